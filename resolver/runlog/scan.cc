#include "resolver/runlog/scan.h"

#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace flightplan {
namespace {

constexpr size_t kLongestTag = 64;
constexpr int64_t kLargest = int64_t{1} << 53;

size_t Digits(absl::string_view text) {
  size_t count = 0;
  while (count < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[count]))) ++count;
  return count;
}

// 2024-05-09T12:34:56.789012345Z, as container logs begin.
void DropTimestamp(absl::string_view* text) {
  const absl::string_view t = *text;
  if (t.size() < 20 || Digits(t) != 4 || t[4] != '-' || t[10] != 'T' || t[13] != ':') return;
  const size_t end = t.find(' ');
  if (end != absl::string_view::npos && end < kLongestTag) text->remove_prefix(end + 1);
}

// [default3]:, [rank3]:, [1,3]<stdout>:
bool TakeBracket(absl::string_view* text, absl::string_view* tag) {
  if (!absl::StartsWith(*text, "[")) return false;
  const size_t end = text->find(']');
  if (end == absl::string_view::npos || end > kLongestTag) return false;
  absl::string_view rest = text->substr(end + 1);
  if (!absl::ConsumePrefix(&rest, "<stdout>")) absl::ConsumePrefix(&rest, "<stderr>");
  if (!absl::ConsumePrefix(&rest, ":")) return false;
  *tag = text->substr(1, end - 1);
  *text = rest;
  return true;
}

// "12: "
bool TakeTask(absl::string_view* text, absl::string_view* tag) {
  const absl::string_view line = absl::StripLeadingAsciiWhitespace(*text);
  const size_t digits = Digits(line);
  if (digits == 0 || digits > 6 || line.size() < digits + 1 || line[digits] != ':') return false;
  if (line.size() > digits + 1 && line[digits + 1] != ' ') return false;
  *tag = line.substr(0, digits);
  *text = line.substr(digits + 1);
  return true;
}

// "ain_fp8_mx/0 "
bool TakeJob(absl::string_view* text, absl::string_view* tag) {
  const size_t end = text->find(' ');
  if (end == absl::string_view::npos || end < 3 || end > kLongestTag) return false;
  const absl::string_view word = text->substr(0, end);
  const size_t slash = word.rfind('/');
  if (slash == absl::string_view::npos || slash == 0 || slash + 1 == word.size()) return false;
  if (Digits(word.substr(slash + 1)) != word.size() - slash - 1) return false;
  if (!absl::ascii_isalpha(static_cast<unsigned char>(word[0]))) return false;
  *tag = word;
  text->remove_prefix(end + 1);
  return true;
}

}  // namespace

std::optional<double> TakeNumber(absl::string_view* text) {
  const absl::string_view from = absl::StripLeadingAsciiWhitespace(*text);
  double value = 0;
  const auto result = absl::from_chars(from.data(), from.data() + from.size(), value);
  if (result.ec != std::errc()) return std::nullopt;
  *text = from.substr(static_cast<size_t>(result.ptr - from.data()));
  return value;
}

std::optional<int64_t> TakeInteger(absl::string_view* text) {
  absl::string_view from = absl::StripLeadingAsciiWhitespace(*text);
  const size_t digits = Digits(from);
  if (digits == 0 || digits > 16) return std::nullopt;
  int64_t value = 0;
  for (size_t i = 0; i < digits; ++i) value = value * 10 + (from[i] - '0');
  if (value >= kLargest) return std::nullopt;
  *text = from.substr(digits);
  return value;
}

std::optional<double> NumberAfter(absl::string_view text, absl::string_view name) {
  const size_t at = text.find(name);
  if (at == absl::string_view::npos) return std::nullopt;
  absl::string_view rest = text.substr(at + name.size());
  return TakeNumber(&rest);
}

Tagged WithoutTag(absl::string_view line) {
  Tagged result;
  DropTimestamp(&line);
  if (!TakeBracket(&line, &result.tag) && !TakeTask(&line, &result.tag)) TakeJob(&line, &result.tag);
  result.text = line;
  return result;
}

}  // namespace flightplan
