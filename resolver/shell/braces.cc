// What ${...} stands for.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/shell/expand.h"
#include "resolver/shell/fields.h"
#include "resolver/shell/raw.h"
#include "resolver/shell/transform.h"
#include "resolver/shell/words.h"

namespace flightplan {
namespace {

// ${NAME-word}, ${NAME=word} and ${NAME?word} are the value, or the word where there is none: '=' stores it, '?' ends
// the script with it. ${NAME+word} is the word where there is a value. Behind a ':' an empty value is none.
constexpr absl::string_view kWordOperators = "-=?+";
constexpr int64_t kToTheEnd = int64_t{1} << 30;  // the length that ${NAME:offset} leaves out

bool IsAll(absl::string_view name) { return name == "@" || name == "*"; }

}  // namespace

// One such reference: its parts are read first, then one operation gives the words that it stands for.
class ShellScanner::Braces {
 public:
  // The scanner stands at the '{' behind the '$' at `start`; it is left behind the '}'.
  Braces(ShellScanner* scanner, Fields* fields, Splitting splitting, size_t start);

  void Expand();

 private:
  using Reason = absl::string_view;  // why the reference is not followed
  static constexpr Reason kFollowed = "";

  Reason Follow();

  Reason ReadParts();
  void ReadSubscript();
  Reason TakeNameFromValue();
  void FindItems();

  // What the operations give.
  Reason Nothing();
  Reason Length();
  Reason Value();
  Reason ValueOrWord(char sign, bool empty_is_none, size_t word);
  Reason Word(char sign, size_t begin);
  Reason Slice();
  Reason Transformed();
  Reason Add(const ShellWords& words);

  bool OneUnknown() const { return found_->size() == 1 && found_->front().value.unknown(); }
  ShellWords Items() const;  // those that the reference names, where there are some

  ShellScanner& scanner_;
  ShellState& state_;
  Fields& fields_;
  const Splitting splitting_;
  const size_t start_;      // of the '$'
  const int offset_;        // the same in the script
  absl::string_view text_;  // the script up to the '}'

  bool length_ = false, indirect_ = false;     // ${#NAME}, ${!NAME}
  std::string name_, subscript_;               // ${NAME[subscript]}
  bool all_items_ = false, one_item_ = false;  // ${NAME[@]} or $@; ${NAME[3]}; neither: the first
  bool joined_ = false;                        // of all items: ${NAME[*]} or $*, one word between double quotes
  size_t operation_;                           // where it begins; what is still to be read before it is known

  const ShellWords* found_ = nullptr;  // null: nothing has this name
  ShellWords item_;                    // keeps one item of an array for found_
  bool unset_ = false;                 // it has no value
};

ShellScanner::Braces::Braces(ShellScanner* scanner, Fields* fields, Splitting splitting, size_t start)
    : scanner_(*scanner),
      state_(scanner->state_),
      fields_(*fields),
      splitting_(splitting),
      start_(start),
      offset_(scanner->script_.offsets[start]),
      operation_(scanner->at_ + 1) {
  const absl::string_view script = scanner_.script_.text;
  scanner_.at_ = EndOfBrackets(script, scanner_.at_, '}', scanner_.depth_);
  text_ = script.substr(0, scanner_.at_);
  absl::ConsumeSuffix(&text_, "}");
}

void ShellScanner::Braces::Expand() {
  const Reason reason = Follow();
  if (reason == kFollowed) return;
  const TracedText raw = scanner_.UnknownText(start_, false);
  state_.NotJudged(offset_, raw.text, std::string(IsAll(name_) && unset_ ? kNoArguments : reason));
  fields_.Joined(raw);
}

ShellScanner::Braces::Reason ShellScanner::Braces::Follow() {
  if (const Reason reason = ReadParts(); reason != kFollowed) return reason;
  if (indirect_) {
    if (const Reason reason = TakeNameFromValue(); reason != kFollowed) return reason;
  }
  FindItems();
  if (length_) return Length();
  const absl::string_view operation = text_.substr(operation_);
  if (operation.empty()) return Value();
  const bool colon = operation[0] == ':';
  const size_t sign = colon ? 1 : 0;
  if (sign < operation.size() && absl::StrContains(kWordOperators, operation.substr(sign, 1))) {
    return ValueOrWord(operation[sign], colon, operation_ + sign + 1);
  }
  if (unset_) return kNotSet;
  return colon ? Slice() : Transformed();
}

// ---- its parts

// [#!]NAME, perhaps a subscript; the operation is what is left.
ShellScanner::Braces::Reason ShellScanner::Braces::ReadParts() {
  const absl::string_view sign = text_.substr(operation_, 1);
  if ((sign == "#" || sign == "!") && EndOfParameter(text_, operation_ + 1) > operation_ + 1) {  // no name itself
    length_ = sign == "#";
    indirect_ = sign == "!";
    ++operation_;
  }
  const size_t begin = std::exchange(operation_, EndOfParameter(text_, operation_));
  name_ = std::string(text_.substr(begin, operation_ - begin));
  all_items_ = IsAll(name_);
  joined_ = name_ == "*";
  if (!name_.empty() && absl::StartsWith(text_.substr(operation_), "[")) ReadSubscript();
  return name_.empty() ? kNotUnderstood : kFollowed;
}

void ShellScanner::Braces::ReadSubscript() {
  const size_t begin = operation_ + 1;
  operation_ = EndOfBrackets(text_, operation_, ']', scanner_.depth_);
  subscript_ = scanner_.Within(begin, std::max(begin, operation_ - 1)).text;
  all_items_ = IsAll(subscript_);
  joined_ = subscript_ == "*";
  one_item_ = !all_items_ && !subscript_.empty();
}

// ${!NAME}
ShellScanner::Braces::Reason ShellScanner::Braces::TakeNameFromValue() {
  const ShellWords* names = state_.Find(name_);
  if (names == nullptr || names->empty() || names->front().value.unknown()) return kNotSet;
  name_ = names->front().value.text;
  return IsVariableName(name_) ? kFollowed : kNotUnderstood;
}

void ShellScanner::Braces::FindItems() {
  found_ = one_item_ ? scanner_.FindItem(name_, subscript_, &item_) : state_.Find(name_);
  unset_ = found_ == nullptr || (found_->size() == 1 && found_->front().value.unset);
}

ShellWords ShellScanner::Braces::Items() const {
  return ShellState::Copy(all_items_ || found_->empty() ? *found_ : ShellWords{found_->front()});
}

// ---- what it stands for

ShellScanner::Braces::Reason ShellScanner::Braces::Add(const ShellWords& words) {
  if (joined_ && splitting_ == Splitting::kNever) {
    fields_.Joined(scanner_.JoinWords(words));
  } else {
    scanner_.AddValues(&fields_, splitting_, words, offset_);
  }
  return kFollowed;
}

// Between double quotes it is still a word, unless all items were asked for.
ShellScanner::Braces::Reason ShellScanner::Braces::Nothing() {
  if (splitting_ == Splitting::kNever && !all_items_) fields_.Joined({});
  return kFollowed;
}

ShellScanner::Braces::Reason ShellScanner::Braces::Length() {
  if (unset_ || (!all_items_ && !found_->empty() && found_->front().value.unknown())) return kNotSet;
  if (all_items_ && ShellState::KnownItems(name_, *found_) < found_->size()) return kOutputUnknown;
  const size_t length = all_items_ ? found_->size() : found_->empty() ? 0 : found_->front().value.text.size();
  fields_.Joined(TracedText::FromOutside(absl::StrCat(length)));
  return kFollowed;
}

ShellScanner::Braces::Reason ShellScanner::Braces::Value() {
  if (one_item_ && found_ != nullptr) return Add(*found_);
  if (const ShellWords* array = state_.Find(name_); one_item_ && array != nullptr) {
    const bool known = ShellState::KnownItems(name_, *array) == array->size() &&
                       scanner_.Evaluate(TracedText::FromOutside(subscript_)).has_value();
    return known ? Nothing() : kOutputUnknown;
  }
  ShellWords values = scanner_.ValueOf(name_, all_items_, start_);
  // Nobody knows how many there are: the word says so, since flags may be among them.
  if (all_items_ && ShellState::IsUnknownAsAWhole(name_, values)) {
    values.front().value = scanner_.UnknownText(start_, false);
  }
  return Add(values);
}

ShellScanner::Braces::Reason ShellScanner::Braces::ValueOrWord(char sign, bool empty_is_none, size_t word) {
  if (!unset_ && OneUnknown()) return kOutputUnknown;
  const bool empty = !unset_ && (found_->empty() || (found_->size() == 1 && found_->front().value.text.empty()));
  const bool has_value = !unset_ && !(empty_is_none && empty);
  if (sign == '+') {
    if (unset_) state_.AssumedUnset(offset_, scanner_.Raw(start_, scanner_.at_).text);
    return has_value ? Word(sign, word) : Nothing();
  }
  if (has_value) return Add(Items());
  return sign == '?' ? kNotSet : Word(sign, word);
}

ShellScanner::Braces::Reason ShellScanner::Braces::Word(char sign, size_t begin) {
  // "${A[@]}" stands for all items of A.
  absl::string_view array = text_.substr(begin);
  if (absl::ConsumePrefix(&array, "\"${") && absl::ConsumeSuffix(&array, "[@]}\"") && IsVariableName(array) &&
      state_.Find(array) != nullptr) {
    scanner_.AddValues(&fields_, Splitting::kNever, *state_.Find(array), offset_);
    return kFollowed;
  }
  TracedText word = scanner_.Within(begin, text_.size());
  word.assumed = word.assumed || unset_;
  if (sign == '=') state_.Set(name_, {{word, offset_}}, offset_);
  return Add({{std::move(word), offset_}});
}

// ${NAME:offset} and ${NAME:offset:length}; of the items where all are meant, else of the text.
ShellScanner::Braces::Reason ShellScanner::Braces::Slice() {
  const ShellWords items = Items();
  const size_t colon = text_.find(':', operation_ + 1);
  std::optional<int64_t> offset = scanner_.Evaluate(scanner_.Within(operation_ + 1, std::min(colon, text_.size())));
  if (IsAll(name_) && offset.has_value()) --*offset;  // they count from 1: with 0 the script's name is among them
  const std::optional<int64_t> length =
      colon == absl::string_view::npos ? kToTheEnd : scanner_.Evaluate(scanner_.Within(colon + 1, text_.size()));
  if (!offset.has_value() || *offset < 0 || !length.has_value() || *length < 0) return kNotUnderstood;
  if (!all_items_ && (items.empty() || items[0].value.unknown())) return kOutputUnknown;
  const size_t size = all_items_ ? items.size() : items[0].value.text.size();
  const size_t from = std::min(static_cast<size_t>(*offset), size);
  const size_t count = std::min(static_cast<size_t>(*length), size - from);
  if (all_items_) {
    const size_t known = ShellState::KnownItems(name_, items);
    if (known < size && from + count > known) return kOutputUnknown;
    const WordSpan slice = WordSpan(items).subspan(from, count);
    return Add(ShellWords(slice.begin(), slice.end()));
  }
  return Add({{TracedText::FromOutside(items[0].value.text.substr(from, count)), offset_}});
}

ShellScanner::Braces::Reason ShellScanner::Braces::Transformed() {
  const ShellWords items = Items();
  const TracedText operation = scanner_.Within(operation_, text_.size());
  if (operation.unknown() || operation.text.empty()) return kNotUnderstood;
  if (items.empty()) return Add({});
  if (all_items_ && ShellState::IsUnknownAsAWhole(name_, items)) return kOutputUnknown;  // nor how many there are
  const std::optional<ShellWords> results = TransformShellWords(items, operation.text);
  return results.has_value() ? Add(*results) : kNotUnderstood;
}

// At '{'.
void ShellScanner::ExpandBraces(Fields* fields, Splitting splitting, size_t start) {
  Braces(this, fields, splitting, start).Expand();
}

}  // namespace flightplan
