#include "resolver/stacks/word_places.h"

#include <cctype>
#include <string>
#include <utility>

#include "absl/strings/match.h"

namespace flightplan {

std::optional<TextEdit> WordPlaces::PlaceOf(const Argument& arg) const {
  const size_t begin = lines_.Offset(arg.at.line, arg.at.column);
  if (begin == absl::string_view::npos || arg.text.empty() || arg.unknown) return std::nullopt;
  if (text_.substr(begin, arg.text.size()) == arg.text) return TextEdit{begin, begin + arg.text.size(), ""};
  return QuotedValue(begin, arg.text);
}

char WordPlaces::QuoteAround(const TextEdit& place) const {
  if (!shell_ || place.begin == 0 || place.end >= text_.size()) return 0;
  const char quote = text_[place.begin - 1];
  return (quote == '"' || quote == '\'') && text_[place.end] == quote ? quote : '\0';
}

std::optional<TextEdit> WordPlaces::WholeWord(TextEdit place) const {
  if (QuoteAround(place) != 0) {
    --place.begin;
    ++place.end;
  }
  if (!shell_) return place;
  const bool begins = place.begin == 0 || absl::StrContains(" \t\n(\"'", text_.substr(place.begin - 1, 1));
  const bool ends = place.end >= text_.size() || absl::StrContains(" \t\r\n);&|\"'", text_.substr(place.end, 1));
  if (!begins || !ends) return std::nullopt;
  return place;
}

size_t WordPlaces::BehindBlanks(size_t at) const {
  while (at < text_.size()) {
    if (IsBlank(text_[at]) || text_[at] == '\n' || text_[at] == '\r') {
      ++at;
    } else if (text_[at] == '\\' && at + 1 < text_.size() && (text_[at + 1] == '\n' || text_[at + 1] == '\r')) {
      at += 2;
    } else {
      break;
    }
  }
  return at;
}

size_t WordPlaces::BehindReference(size_t at) const {
  const bool quoted = at < text_.size() && text_[at] == '"';
  size_t end = at + (quoted ? 1 : 0);
  if (end >= text_.size() || text_[end] != '$') return at;
  ++end;
  const bool braces = end < text_.size() && text_[end] == '{';
  end += braces ? 1 : 0;
  const size_t name = end;
  while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_')) ++end;
  if (end == name) return at;
  for (const auto& [asked, close] : {std::pair(braces, '}'), std::pair(quoted, '"')}) {
    if (asked && (end >= text_.size() || text_[end] != close)) return at;
    end += asked ? 1 : 0;
  }
  const bool ends = end >= text_.size() || absl::StrContains(" \t\r\n);&|", text_.substr(end, 1));
  return ends ? end : at;
}

std::optional<TextEdit> WordPlaces::QuotedValue(size_t begin, absl::string_view word) const {
  const size_t value = word.find('=') + 1;
  if (!shell_ || value == 0 || text_.substr(begin, value) != word.substr(0, value)) return std::nullopt;
  const size_t open = begin + value, length = word.size() - value, close = open + 1 + length;
  const bool quoted =
      close < text_.size() && (text_[open] == '"' || text_[open] == '\'') && text_[close] == text_[open];
  if (!quoted || text_.substr(open + 1, length) != word.substr(value)) return std::nullopt;
  return TextEdit{begin, close + 1, ""};
}

}  // namespace flightplan
