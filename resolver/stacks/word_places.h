// Where the words of a launch stand in its text, with their quotes.
#pragma once

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"
#include "resolver/plan/reading.h"
#include "resolver/stacks/text_edits.h"

namespace flightplan {

class WordPlaces {
 public:
  // `shell`: quotes and references mean what they mean to a shell.
  WordPlaces(absl::string_view text, bool shell) : text_(text), lines_(text), shell_(shell) {}

  // The place of a word that stands in the text as it is; its quotes are outside, but those of --flag="value".
  std::optional<TextEdit> PlaceOf(const Argument& arg) const;
  // The quote that stands on both sides; 0: none does.
  char QuoteAround(const TextEdit& place) const;
  size_t BehindQuote(const TextEdit& place) const { return place.end + (QuoteAround(place) != 0 ? 1 : 0); }
  // The place with its quotes; empty where it is a part of a longer word, such as EP=64 or "--ep 64".
  std::optional<TextEdit> WholeWord(TextEdit place) const;
  // Behind blanks and line continuations.
  size_t BehindBlanks(size_t at) const;
  // Behind "$NAME" or ${NAME}, the whole of one word; `at` itself where something else stands there.
  size_t BehindReference(size_t at) const;

 private:
  // --flag="value": the place of the whole word.
  std::optional<TextEdit> QuotedValue(size_t begin, absl::string_view word) const;

  absl::string_view text_;
  Lines lines_;
  bool shell_;
};

}  // namespace flightplan
