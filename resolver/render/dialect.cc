#include "resolver/render/dialect.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace flightplan {
namespace {

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
  bool plain = !word.empty();
  for (const char c : word) plain &= kPlain[static_cast<unsigned char>(c)];
  return plain;
}

void AppendQuoted(absl::string_view word, std::string* text) {
  if (NeedsNoQuotes(word)) {
    text->append(word.data(), word.size());
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
    const bool flag = word.size() >= 2 && word[0] == '-' && word[1] == '-';
    text.append(flag ? " \\\n    " : " ");
    AppendQuoted(word, &text);
  }
  text += '\n';
  return text;
}

ParseFinding MakeParseFinding(SourcePosition at, absl::string_view rule_id, Severity severity, std::string seen,
                              std::string needs, absl::string_view source) {
  ParseFinding entry;
  entry.at = at;
  entry.finding.rule_id = rule_id;
  entry.finding.area = "cli";
  entry.finding.severity = severity;
  entry.finding.verdict = severity == Severity::kError ? Verdict::kAccepted : Verdict::kAdvice;
  entry.finding.stage = "parse";
  entry.finding.seen = std::move(seen);
  entry.finding.needs = std::move(needs);
  entry.finding.source = source;
  return entry;
}

std::string Printable(absl::string_view text, size_t limit) {
  const bool cut = text.size() > limit;
  return absl::StrCat(absl::CHexEscape(text.substr(0, limit)), cut ? "..." : "");
}

}  // namespace flightplan
