// A text that holds the words of a launch: a script, or a file of arguments.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"
#include "resolver/stacks/text_edits.h"
#include "resolver/stacks/word_edits.h"
#include "resolver/stacks/word_places.h"

namespace flightplan {

class ArgumentFile {
 public:
  using Edits = std::vector<TextEdit>;

  ArgumentFile(absl::string_view text, absl::Span<const Argument> args, bool shell)
      : text_(text), lines_(text), args_(args), shell_(shell), places_(text, shell) {}

  // These go: nothing is put in front of them.
  void Leaves(size_t index, size_t count) {
    for (size_t i = index; i < index + count; ++i) leaving_.insert(i);
  }

  // The text edits of one word edit; empty when the words do not stand in the text as they are.
  std::optional<Edits> Edit(const WordEdit& edit) const;

 private:
  std::string Quoted(const std::string& word) const { return shell_ ? ShellQuote(word) : word; }
  // Other words at these places: values that are left over go, further ones come behind the last.
  std::optional<Edits> Rewrite(const Edits& places, const std::vector<std::string>& words) const;
  // Another word at this place. Inside quotes it needs no further ones, but must not end them.
  std::optional<TextEdit> InPlace(TextEdit place, const std::string& word) const;
  bool QuotesValue(const TextEdit& place) const;
  // Of --flag="value": as it was quoted where that will do, else the value in quotes of our own.
  std::optional<TextEdit> KeepQuotes(TextEdit place, const std::string& word) const;
  // Takes a flag away with its values, which stand behind it or, one of them, in a variable.
  std::optional<Edits> DeleteWords(const Edits& places) const;
  std::optional<Edits> Delete(const Edits& words) const;
  // In front of the last flag or override that stands in the text as itself.
  std::optional<Edits> Insert(const std::vector<std::string>& words) const;
  std::string InFrontOf(size_t at, const std::string& words) const;
  bool EndsInBackslash(size_t offset) const;

  absl::string_view text_;
  Lines lines_;
  absl::Span<const Argument> args_;
  bool shell_;
  WordPlaces places_;
  std::set<size_t> leaving_;  // indices of words
};

}  // namespace flightplan
