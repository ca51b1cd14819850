#include "resolver/render/dialect.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace flightplan {
namespace {

constexpr size_t kMaxComparedWord = 128;

// Levenshtein distance; both words are at most kMaxComparedWord long.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

constexpr std::array<bool, 256> PlainBytes() {
  std::array<bool, 256> plain{};
  for (unsigned char c = '0'; c <= '9'; ++c) plain[c] = true;
  for (unsigned char c = 'A'; c <= 'Z'; ++c) plain[c] = true;
  for (unsigned char c = 'a'; c <= 'z'; ++c) plain[c] = true;
  for (char c : std::string_view("@%+=:,./-_")) plain[static_cast<unsigned char>(c)] = true;
  return plain;
}

bool NeedsNoQuotes(absl::string_view word) {
  static constexpr std::array<bool, 256> kPlain = PlainBytes();
  return !word.empty() &&
         std::all_of(word.begin(), word.end(), [](char c) { return kPlain[static_cast<unsigned char>(c)]; });
}

void AppendQuoted(absl::string_view word, std::string* text) {
  if (NeedsNoQuotes(word)) {
    absl::StrAppend(text, word);
    return;
  }
  *text += '\'';
  for (char c : word) {
    if (c == '\'') {
      *text += "'\\''";
    } else {
      *text += c;
    }
  }
  *text += '\'';
}

}  // namespace

bool ParseResult::ok() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const ParseFinding& f) { return f.finding.severity == Severity::kError; });
}

void ApplyKnobs(const std::vector<ParsedKnob>& knobs, Config* config) {
  for (const ParsedKnob& parsed : knobs) config->Set(parsed.knob, parsed.value, Origin::kCaller);
}

std::string ShellQuote(absl::string_view word) {
  std::string quoted;
  AppendQuoted(word, &quoted);
  return quoted;
}

std::string ShellText(const EnvVars& exports, absl::string_view command, absl::Span<const std::string> argv) {
  std::string text;
  size_t size = command.size() + 1;
  for (const auto& [name, value] : exports) size += name.size() + value.size() + 16;
  for (const std::string& word : argv) size += word.size() + 8;
  text.reserve(size);
  for (const auto& [name, value] : exports) {
    absl::StrAppend(&text, "export ", name, "=");
    AppendQuoted(value, &text);
    text += '\n';
  }
  absl::StrAppend(&text, command);
  for (const std::string& word : argv) {
    absl::StrAppend(&text, absl::StartsWith(word, "--") ? " \\\n    " : " ");
    AppendQuoted(word, &text);
  }
  text += '\n';
  return text;
}

absl::string_view NearestWord(absl::string_view word, absl::Span<const absl::string_view> candidates) {
  if (word.size() > kMaxComparedWord) return {};
  absl::string_view best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (absl::string_view candidate : candidates) {
    if (candidate.size() > kMaxComparedWord) continue;
    const size_t gap = std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size());
    if (gap >= best_distance) continue;  // the distance is at least the difference in length
    const size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string Printable(absl::string_view text, size_t limit) {
  const bool cut = text.size() > limit;
  return absl::StrCat(absl::CHexEscape(text.substr(0, limit)), cut ? "..." : "");
}

}  // namespace flightplan
