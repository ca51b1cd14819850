// Words for the values of an enumeration, in both directions, as a table.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan::cli {

template <class E>
struct Word {
  absl::string_view word;
  E value;
};

template <class E, size_t N>
std::vector<absl::string_view> WordsOf(const Word<E> (&table)[N]) {
  std::vector<absl::string_view> words;
  for (const Word<E>& row : table) words.push_back(row.word);
  return words;
}

// The zero value when there is no such word.
template <class E, size_t N>
E ValueOf(const Word<E> (&table)[N], absl::string_view word) {
  for (const Word<E>& row : table) {
    if (row.word == word) return row.value;
  }
  return E{};
}

// Empty for a value without a word, such as one that a newer server sent.
template <class E, size_t N>
absl::string_view WordFor(const Word<E> (&table)[N], E value) {
  for (const Word<E>& row : table) {
    if (row.value == value) return row.word;
  }
  return "";
}

}  // namespace flightplan::cli
