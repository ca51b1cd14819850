#include "resolver/base/utf8.h"

#include "absl/strings/str_cat.h"

namespace flightplan {

size_t Utf8CharacterBytes(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80                   ? 1
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90)) return 0;    // overlong
  if ((lead == 0xed && byte(1) >= 0xa0) || (lead == 0xf4 && byte(1) >= 0x90)) return 0;  // surrogates, beyond Unicode
  return length;
}

size_t Utf8PrefixBytes(absl::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (static_cast<signed char>(text[at]) >= 0) {
      ++at;
      continue;
    }
    const size_t length = Utf8CharacterBytes(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

absl::string_view Utf8Prefix(absl::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

std::string Utf8Repaired(absl::string_view text) {
  std::string out(text);
  for (size_t at = Utf8PrefixBytes(out); at < out.size(); at += Utf8PrefixBytes(absl::string_view(out).substr(at))) {
    out[at] = '?';
  }
  return out;
}

std::string Utf8Clip(absl::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  return absl::StrCat(Utf8Prefix(text, most - 3), "...");
}

}  // namespace flightplan
