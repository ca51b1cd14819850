#include "resolver/render/launch.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace flightplan {
namespace {

// 1 for bytes that a shell takes as they are.
constexpr std::array<uint8_t, 256> PlainBytes() {
  std::array<uint8_t, 256> plain{};
  for (unsigned char c = '0'; c <= '9'; ++c) plain[c] = 1;
  for (unsigned char c = 'A'; c <= 'Z'; ++c) plain[c] = 1;
  for (unsigned char c = 'a'; c <= 'z'; ++c) plain[c] = 1;
  for (char c : std::string_view("@%+=:,./-_")) plain[static_cast<unsigned char>(c)] = 1;
  return plain;
}

bool NeedsNoQuotes(absl::string_view word) {
  static constexpr std::array<uint8_t, 256> kPlain = PlainBytes();
  const auto* at = reinterpret_cast<const unsigned char*>(word.data());
  const auto* const end = at + word.size();
  unsigned plain = word.empty() ? 0 : 1;
  // A launch has thousands of bytes: four at a time, without a branch.
  for (; end - at >= 4; at += 4) plain &= kPlain[at[0]] & kPlain[at[1]] & kPlain[at[2]] & kPlain[at[3]];
  for (; at < end; ++at) plain &= kPlain[*at];
  return plain != 0;
}

// What a terminal that shows the text would act upon.
bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
}

// As bash's $'...', which spells control bytes.
void AppendSpelled(absl::string_view word, std::string* text) {
  *text += "$'";
  for (const char c : word) {
    if (IsControl(c)) {
      absl::StrAppend(text, "\\x", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    } else {
      if (c == '\\' || c == '\'') *text += '\\';
      *text += c;
    }
  }
  *text += '\'';
}

void AppendQuoted(absl::string_view word, std::string* text) {
  if (NeedsNoQuotes(word)) {
    text->append(word.data(), word.size());
    return;
  }
  if (std::any_of(word.begin(), word.end(), IsControl)) return AppendSpelled(word, text);
  *text += '\'';
  for (;;) {
    const size_t quote = std::min(word.find('\''), word.size());
    text->append(word.data(), quote);
    if (quote == word.size()) break;
    *text += "'\\''";
    word.remove_prefix(quote + 1);
  }
  *text += '\'';
}

constexpr absl::string_view kNextLine = " \\\n    ";  // each flag begins a line

// `room`: bytes of the arguments to come.
void AppendCommand(const EnvVars& exports, absl::string_view command, size_t room, std::string* text) {
  size_t size = command.size() + 1;
  for (const auto& [name, value] : exports) size += name.size() + value.size() + 16;
  text->reserve(size + room);
  for (const auto& [name, value] : exports) {
    absl::StrAppend(text, "export ", name, "=");
    AppendQuoted(value, text);
    *text += '\n';
  }
  absl::StrAppend(text, command);
}

void AppendWord(absl::string_view word, std::string* text) {
  if (absl::StartsWith(word, "--")) {
    text->append(kNextLine.data(), kNextLine.size());
  } else {
    *text += ' ';
  }
  AppendQuoted(word, text);
}

}  // namespace

bool IsWhole(const Config& config) {
  int given = 0;
  for (int i = 0; i < kKnobCount; ++i) given += config.Given(static_cast<Knob>(i)) ? 1 : 0;
  return given > 1;
}

std::string ShellQuote(absl::string_view word) {
  std::string quoted;
  AppendQuoted(word, &quoted);
  return quoted;
}

std::string ShellText(const EnvVars& exports, absl::string_view command, absl::Span<const std::string> argv) {
  std::string text;
  size_t size = 0;
  for (const std::string& word : argv) size += word.size() + 8;
  AppendCommand(exports, command, size, &text);
  for (const std::string& word : argv) AppendWord(word, &text);
  text += '\n';
  return text;
}

LaunchWriter::LaunchWriter(absl::string_view command, Launch* launch) : launch_(launch) {
  launch_->argv.reserve(256);
  launch_->words.reserve(128);
  AppendCommand(launch_->env, command, size_t{4} << 10, &launch_->text);
}

void LaunchWriter::Flag(absl::string_view flag) {
  launch_->argv.emplace_back(flag.data(), flag.size());
  launch_->text.append(kNextLine.data(), kNextLine.size()).append(flag.data(), flag.size());
}

void LaunchWriter::Word(std::string word) {
  AppendWord(word, &launch_->text);
  launch_->argv.push_back(std::move(word));
}

void LaunchWriter::Line(std::string word) {
  launch_->text.append(kNextLine.data(), kNextLine.size() - 1);
  Word(std::move(word));
}

void LaunchWriter::Repeat(const Launch& other, size_t i) {
  const bool last = i + 1 == other.words.size();
  const KnobWords begin = other.words[i];
  const size_t argv_end = last ? other.argv.size() : other.words[i + 1].argv;
  const size_t end = other.plan_end != 0 ? other.plan_end : other.text.size() - 1;  // without the newline at the end
  const size_t text_end = last ? end : other.words[i + 1].text;
  for (size_t word = begin.argv; word < argv_end; ++word) launch_->argv.push_back(other.argv[word]);
  launch_->text.append(other.text, begin.text, text_end - begin.text);
}

}  // namespace flightplan
