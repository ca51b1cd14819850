// What a script assigns: NAME=, NAME+=, NAME[...]= and arrays.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "resolver/shell/raw.h"
#include "resolver/shell/words.h"

namespace flightplan {

// Behind the `=` of NAME=, NAME+= or NAME[...]=; at_ where none stands here.
size_t ShellScanner::EndOfAssignedName() const {
  size_t end = EndOfName(script_.text, at_);
  if (end == at_) return at_;
  if (end < script_.text.size() && script_.text[end] == '[') end = EndOfBrackets(script_.text, end, ']');
  const absl::string_view behind = absl::string_view(script_.text).substr(end);
  if (absl::StartsWith(behind, "+=")) return end + 2;
  return absl::StartsWith(behind, "=") ? end + 1 : at_;
}

bool ShellScanner::AssignsArray() const {
  const size_t end = EndOfAssignedName();
  return end != at_ && end < script_.text.size() && script_.text[end] == '(';
}

void ShellScanner::SkipAssignment() {
  at_ = EndOfAssignedName();
  at_ = Peek() == '(' ? EndOfBrackets(script_.text, at_, ')') : EndOfWord(script_.text, at_);
}

void ShellScanner::SkipAssignments() {
  while (EndOfAssignedName() != at_) {
    SkipAssignment();
    SkipBlanks();
  }
}

std::string ShellScanner::AssignedName() const {
  return EndOfAssignedName() == at_ ? "" : script_.text.substr(at_, EndOfName(script_.text, at_) - at_);
}

std::string ShellScanner::ReadAssignment() {
  const size_t behind = EndOfAssignedName();
  if (behind == at_) return "";
  const bool append = script_.text[behind - 2] == '+';
  std::string name = AssignedName();
  const size_t name_end = at_ + name.size();
  const size_t target_end = behind - (append ? 2 : 1);
  std::optional<TracedText> subscript;
  if (target_end > name_end + 1) subscript = Within(name_end + 1, target_end - 1);
  at_ = behind;
  if (subscript.has_value() && Peek() != '(' && SetItem(name, *subscript, append)) return name;
  if (subscript.has_value()) absl::StrAppend(&name, "[", subscript->text, "]");  // kept as a variable of its own
  const bool array = Peek() == '(';
  if (array && !append && !subscript.has_value() && SetKeyedItems(name)) return name;
  ShellWords items;
  if (array) {
    items = ReadArray();
  } else {
    ShellWord joined;
    joined.offset = Offset();
    joined.value = ReadJoined();
    if (state_.IsInteger(name) && SetInteger(name, joined.value, append)) return name;
    items.push_back(std::move(joined));
  }
  if (append) {
    state_.Append(name, std::move(items), array, Offset());
  } else {
    state_.Set(name, std::move(items), Offset());
  }
  return name;
}

// What is assigned to a variable of `declare -i` is an expression. False: it is not known.
bool ShellScanner::SetInteger(const std::string& name, const TracedText& value, bool append) {
  std::optional<int64_t> number = Evaluate(value);
  if (append && number.has_value()) {
    const ShellWords* const items = state_.Find(name);
    const std::optional<int64_t> before = items == nullptr ? 0 : NumberOf(name);
    int64_t sum = 0;
    const bool known = before.has_value() && !__builtin_add_overflow(*before, *number, &sum);
    number = known ? std::optional(sum) : std::nullopt;
  }
  if (!number.has_value() && !append) return false;
  state_.SetNumber(name, number, value.FirstOffset(Offset()));
  return true;
}

// NAME[subscript]=value, behind the sign, where it is an item of an array or the one behind its last. False: it is
// none, and nothing was read: an associative array's, or one with items left out between.
bool ShellScanner::SetItem(const std::string& name, const TracedText& subscript, bool append) {
  const ShellWords* array = state_.Find(name);
  int64_t index = 0;
  if (subscript.unknown() || (array != nullptr && ShellState::IsUnknownAsAWhole(name, *array))) return false;
  if (!absl::SimpleAtoi(subscript.text, &index)) {
    const std::optional<int64_t> value = array == nullptr ? std::nullopt : Evaluate(subscript);
    if (!value.has_value()) return false;
    index = *value;
  }
  ShellWords items = array == nullptr ? ShellWords() : ShellState::Copy(*array);
  const auto size = static_cast<int64_t>(items.size());
  const auto known = static_cast<int64_t>(ShellState::KnownItems(name, items));
  if (known < size && (index < 0 || index >= known)) {  // nobody knows which one it is
    state_.SetUnknown(name, Offset());
    return false;
  }
  if (index < 0) index += size;
  if (index > size && array != nullptr) state_.SetUnknown(name, Offset());  // its items are not one behind the other
  if (index < 0 || index > size) return false;
  ShellWord item;
  item.offset = Offset();
  item.value = ReadJoined();
  if (index == size) {
    items.push_back(std::move(item));
  } else if (append) {
    items[static_cast<size_t>(index)].value.Append(item.value);
  } else {
    items[static_cast<size_t>(index)] = std::move(item);
  }
  state_.Set(name, std::move(items), Offset());
  return true;
}

// Whether NAME=( is followed by [key]=value alone; at the bracket, where it stays.
bool ShellScanner::HasKeysAlone() {
  const size_t bracket = at_++;
  bool keyed = false;
  for (SkipBlankLines(); Peek() == '['; SkipBlankLines()) {
    const size_t end = EndOfBrackets(script_.text, at_, ']');
    if (end >= script_.text.size() || script_.text[end] != '=') break;
    at_ = EndOfWord(script_.text, end + 1);
    keyed = true;
  }
  const bool alone = keyed && Peek() == ')';
  at_ = bracket;
  return alone;
}

// NAME=([key]=value ...), at the bracket. False: not all of its items have keys, and nothing was read.
bool ShellScanner::SetKeyedItems(const std::string& name) {
  if (!HasKeysAlone()) return false;
  const int begin = Offset();
  std::map<std::string, ShellWord, std::less<>> items;  // of one key the last
  ++at_;
  for (SkipBlankLines(); Peek() == '['; SkipBlankLines()) {
    const size_t end = EndOfBrackets(script_.text, at_, ']');
    std::string key = Within(at_ + 1, end - 1).text;
    at_ = end + 1;
    const int offset = Offset();
    items.insert_or_assign(std::move(key), ShellWord{ReadJoined(), offset});  // sees the array as it was
  }
  ++at_;  // )
  state_.ForgetItems(name, begin);
  ShellWords in_order;
  for (size_t i = 0; i < items.size(); ++i) {
    const auto item = items.find(absl::StrCat(i));
    if (item == items.end()) break;
    in_order.push_back(item->second);
  }
  const bool gapless = in_order.size() == items.size();
  if (gapless) {
    state_.Set(name, std::move(in_order), begin);
    return true;
  }
  if (state_.Find(name) != nullptr) state_.SetUnknown(name, begin);
  for (auto& [key, word] : items) {
    const int offset = word.offset;
    state_.Set(absl::StrCat(name, "[", key, "]"), {std::move(word)}, offset);
  }
  return true;
}

ShellWords ShellScanner::ReadArray() {
  ShellWords items;
  ++at_;  // (
  while (true) {
    SkipBlanks();
    if (Done()) return items;
    if (Peek() == ')') {
      ++at_;
      return items;
    }
    for (ShellWord& word : ReadWord()) items.push_back(std::move(word));  // a line's end is skipped like a blank
  }
}

}  // namespace flightplan
