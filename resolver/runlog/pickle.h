// Plain values of a pickle, as Python's pickle module writes them from protocol 2 on: numbers, text, lists, tuples and
// dictionaries. Nothing in a pickle is called, imported or made: a pickle with any other instruction is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flightplan {

class Pickle {
 public:
  enum class Kind : uint8_t { kNone, kNumber, kReal, kText, kList, kTuple, kDict };
  using Id = uint32_t;  // of a value; several places may hold the same one, and a list itself

  static constexpr size_t kMostBytes = size_t{512} << 20;  // of the file
  static constexpr size_t kMostMemory = size_t{1} << 30;   // of what is made of it
  // Of it for each byte of the file, and beside that: what PyTorch writes takes 2.5 to 3.5, single bytes that each make
  // a value take 20.
  static constexpr size_t kMemoryOfByte = 6, kMemoryOfAny = size_t{16} << 20;

  // Whether a file with these first bytes looks like one.
  static bool Recognises(absl::string_view begin);
  // `bytes` must outlive the values, whose text stands there. INVALID_ARGUMENT: what is wrong with it, in a few words.
  static absl::StatusOr<Pickle> Read(absl::string_view bytes);

  Id root() const { return root_; }
  Kind kind(Id id) const { return values_[id].kind; }
  // Of another kind: 0, nothing, no items.
  int64_t Number(Id id) const;
  absl::string_view Text(Id id) const;
  absl::Span<const Id> Items(Id id) const;  // of a dictionary a key and its value by turns
  // A dictionary's value of that key; the last one, if it is written twice. Nothing of one with more than kMostKeys.
  static constexpr size_t kMostKeys = 256;
  std::optional<Id> Get(Id dict, absl::string_view key) const;

 private:
  struct Value {
    Kind kind = Kind::kNone;
    uint32_t size = 0;  // of text
    int64_t at = 0;     // the number; of text where it begins, of others which row of items_
  };
  friend class PickleMachine;

  absl::string_view bytes_;
  std::deque<Value> values_;  // there may be many, and a vector holds as much again while it grows
  std::vector<std::vector<Id>> items_;
  Id root_ = 0;
};

}  // namespace flightplan
