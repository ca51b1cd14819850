#include "resolver/stacks/argument_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace flightplan {

std::optional<ArgumentFile::Edits> ArgumentFile::Edit(const WordEdit& edit) const {
  if (edit.count == 0) return Insert(edit.words);
  Edits places;
  for (size_t i = 0; i < edit.count; ++i) {
    std::optional<TextEdit> place = places_.PlaceOf(args_[edit.index + i]);
    if (!place.has_value()) return std::nullopt;
    places.push_back(*std::move(place));
  }
  return edit.words.empty() ? DeleteWords(places) : Rewrite(places, edit.words);
}

std::optional<ArgumentFile::Edits> ArgumentFile::Rewrite(const Edits& places,
                                                         const std::vector<std::string>& words) const {
  Edits edits = places;
  for (size_t i = 0; i < std::min(places.size(), words.size()); ++i) {
    std::optional<TextEdit> place = InPlace(places[i], words[i]);
    if (!place.has_value()) return std::nullopt;
    edits[i] = *std::move(place);
  }
  if (places.size() > words.size()) {
    const TextEdit gone{places_.BehindQuote(places[words.size() - 1]), places_.BehindQuote(places.back()), ""};
    if (absl::StrContains(text_.substr(gone.begin, gone.end - gone.begin), '\n')) return std::nullopt;
    edits.resize(words.size());
    edits.push_back(gone);
    return edits;
  }
  std::string more;
  for (size_t i = places.size(); i < words.size(); ++i) absl::StrAppend(&more, " ", Quoted(words[i]));
  if (more.empty()) return edits;
  if (const size_t behind = places_.BehindQuote(places.back()); behind > places.back().end) {
    edits.push_back({behind, behind, std::move(more)});
  } else {
    edits.back().text += more;
  }
  return edits;
}

std::optional<TextEdit> ArgumentFile::InPlace(TextEdit place, const std::string& word) const {
  if (QuotesValue(place)) return KeepQuotes(std::move(place), word);
  const bool opened = place.begin > 0 && (text_[place.begin - 1] == '"' || text_[place.begin - 1] == '\'');
  if (!shell_ || !opened) {
    place.text = Quoted(word);
    return place;
  }
  const absl::string_view special = text_[place.begin - 1] == '"' ? "\"\\$`" : "'";
  if (word.find_first_of(std::string(special)) != std::string::npos) return std::nullopt;
  place.text = word;
  return place;
}

bool ArgumentFile::QuotesValue(const TextEdit& place) const {
  const absl::string_view word = text_.substr(place.begin, place.end - place.begin);
  const size_t equals = word.find('=');
  return shell_ && equals != absl::string_view::npos && equals + 2 < word.size() && word.back() == word[equals + 1] &&
         (word.back() == '"' || word.back() == '\'');
}

std::optional<TextEdit> ArgumentFile::KeepQuotes(TextEdit place, const std::string& word) const {
  const char quote = text_[place.end - 1];
  const size_t value = word.find('=') + 1;
  if (value == 0) {
    place.text = ShellQuote(word);
  } else if (word.find_first_of(quote == '"' ? "\"\\$`" : "'", value) != std::string::npos) {
    place.text = absl::StrCat(word.substr(0, value), ShellQuote(word.substr(value)));
  } else {
    place.text = absl::StrCat(word.substr(0, value), std::string(1, quote), word.substr(value), std::string(1, quote));
  }
  return place;
}

std::optional<ArgumentFile::Edits> ArgumentFile::DeleteWords(const Edits& places) const {
  Edits words;
  for (const TextEdit& place : places) {
    std::optional<TextEdit> word = places_.WholeWord(place);
    const bool next = words.empty() || (word.has_value() && places_.BehindBlanks(words.back().end) == word->begin);
    if (next && word.has_value()) {
      words.push_back(*std::move(word));
      continue;
    }
    const size_t begin = words.empty() ? 0 : places_.BehindBlanks(words.back().end);
    if (words.empty() || places.size() != 2 || places_.BehindReference(begin) == begin) return std::nullopt;
    words.push_back({begin, places_.BehindReference(begin), ""});
  }
  return Delete(words);
}

std::optional<ArgumentFile::Edits> ArgumentFile::Delete(const Edits& words) const {
  const TextEdit all{words.front().begin, words.back().end, ""};
  const size_t begin = lines_.Begin(all.begin), end = lines_.End(all.end);
  const absl::string_view before = text_.substr(begin, all.begin - begin);
  const absl::string_view behind = absl::StripAsciiWhitespace(text_.substr(all.end, end - all.end));
  const bool alone = std::all_of(before.begin(), before.end(), IsBlank) && (behind.empty() || behind == "\\");
  const bool several = absl::StrContains(text_.substr(all.begin, all.end - all.begin), '\n');
  if (several && !alone && shell_) return std::nullopt;
  if (!alone) {
    size_t from = all.begin;
    while (from > begin && IsBlank(text_[from - 1])) --from;
    if (from == begin) from = all.begin;  // what comes behind keeps the line's indent
    return Edits{{from, all.end, ""}};
  }
  // The last line of a command has no backslash: the one before must lose its own.
  if (shell_ && behind.empty() && begin > 0 && EndsInBackslash(lines_.Begin(begin - 1))) {
    const size_t backslash = text_.rfind('\\', begin - 1);
    return Edits{{backslash, end, end > all.end ? "\n" : ""}};
  }
  return Edits{{begin, end, ""}};
}

std::optional<ArgumentFile::Edits> ArgumentFile::Insert(const std::vector<std::string>& words) const {
  for (size_t i = args_.size(); i-- > 0;) {
    const bool flag =
        IsFlag(args_[i].text) || (i > 0 && !IsFlag(args_[i - 1].text) && absl::StrContains(args_[i].text, "="));
    const std::optional<TextEdit> place = flag ? places_.PlaceOf(args_[i]) : std::nullopt;
    if (!place.has_value() || leaving_.count(i) > 0) continue;
    std::vector<std::string> quoted;
    quoted.reserve(words.size());
    for (const std::string& word : words) quoted.push_back(Quoted(word));
    const size_t at = place->begin - (places_.QuoteAround(*place) != 0 ? 1 : 0);
    return Edits{{at, at, InFrontOf(at, absl::StrJoin(quoted, " "))}};
  }
  return std::nullopt;
}

std::string ArgumentFile::InFrontOf(size_t at, const std::string& words) const {
  const size_t line = lines_.Begin(at);
  const absl::string_view indent = text_.substr(line, at - line);
  if (!std::all_of(indent.begin(), indent.end(), IsBlank)) return words + " ";
  const bool continued = shell_ && (EndsInBackslash(line) || (line > 0 && EndsInBackslash(lines_.Begin(line - 1))));
  return absl::StrCat(words, continued ? " \\" : "", "\n", indent);
}

bool ArgumentFile::EndsInBackslash(size_t offset) const {
  const absl::string_view line = text_.substr(offset, lines_.End(offset) - offset);
  return absl::EndsWith(absl::StripTrailingAsciiWhitespace(line), "\\");
}

}  // namespace flightplan
