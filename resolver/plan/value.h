// One value of one knob, in sixteen bytes. Copying is cheap: text and lists are counted, shared and immutable.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "resolver/base/counted.h"

namespace flightplan {

class Value {
 public:
  using List = std::vector<Value>;

  Value() {}                                                                  // None: upstream's `None`
  Value(bool v) : tag_(Tag::kBool) { as_.boolean = v; }                       // NOLINT(google-explicit-constructor)
  Value(int v) : Value(static_cast<int64_t>(v)) {}                            // NOLINT(google-explicit-constructor)
  Value(int64_t v) : tag_(Tag::kInt) { as_.integer = v; }                     // NOLINT(google-explicit-constructor)
  Value(double v) : tag_(Tag::kFloat) { as_.real = v; }                       // NOLINT(google-explicit-constructor)
  Value(absl::string_view v) : tag_(Tag::kText) { as_.shared = NewText(v); }  // NOLINT(google-explicit-constructor)
  Value(const char* v) : Value(absl::string_view(v)) {}                       // NOLINT(google-explicit-constructor)
  Value(const std::string& v) : Value(absl::string_view(v)) {}                // NOLINT(google-explicit-constructor)
  Value(List v) : tag_(Tag::kList) { as_.shared = NewList(std::move(v)); }    // NOLINT(google-explicit-constructor)

  Value(const Value& other) noexcept : tag_(other.tag_), as_(other.as_) {
    if (counted()) as_.shared->Hold();
  }
  Value(Value&& other) noexcept : tag_(other.tag_), as_(other.as_) { other.tag_ = Tag::kNone; }
  Value& operator=(const Value& other) noexcept {
    Value copy(other);
    Swap(&copy);
    return *this;
  }
  Value& operator=(Value&& other) noexcept {
    Value taken(std::move(other));
    Swap(&taken);
    return *this;
  }
  ~Value() {
    if (counted() && as_.shared->Drop()) Free();
  }

  bool is_none() const { return tag_ == Tag::kNone; }
  bool is_bool() const { return tag_ == Tag::kBool; }
  bool is_int() const { return tag_ == Tag::kInt; }
  bool is_float() const { return tag_ == Tag::kFloat; }
  bool is_text() const { return tag_ == Tag::kText; }
  bool is_list() const { return tag_ == Tag::kList; }
  bool is_number() const { return is_int() || is_float(); }

  // Python's truth: None, false, 0, "" and [] are false.
  bool truthy() const {
    switch (tag_) {
      case Tag::kNone:
        return false;
      case Tag::kBool:
        return as_.boolean;
      case Tag::kInt:
        return as_.integer != 0;
      case Tag::kFloat:
        return as_.real != 0;
      case Tag::kText:
        return !text().empty();
      case Tag::kList:
        return !list().empty();
    }
    return false;
  }
  // Numbers and bools as an integer (floats truncate); 0 for anything else.
  int64_t integer() const {
    if (is_int()) return as_.integer;
    if (is_bool()) return as_.boolean ? 1 : 0;
    return is_float() ? Truncated(as_.real) : 0;
  }
  // Numbers and bools as a double; 0 for anything else.
  double real() const { return is_float() ? as_.real : static_cast<double>(integer()); }
  // The text, or "" when it is not text. Valid as long as any copy of this value lives.
  absl::string_view text() const {
    return is_text() ? absl::string_view(static_cast<const Text*>(as_.shared)->text) : absl::string_view();
  }
  // The items, or an empty list when it is not a list.
  const List& list() const { return is_list() ? static_cast<const Items*>(as_.shared)->items : EmptyList(); }

  // For values of tables that live as long as the process: their text is no longer counted, so that threads which copy
  // them share nothing that they write to.
  void KeepForever() {
    if (counted()) as_.shared->KeepForever();
  }

  // As JSON: null, true, 3, 0.5, "x", ["a",1].
  std::string ToJson() const;
  // As a person writes it on a command line: true, 3, x, a,b.
  std::string ToText() const;

  // Python's `==` between config values: 1 == 1.0, but true differs from "true".
  friend bool operator==(const Value& a, const Value& b);
  friend bool operator!=(const Value& a, const Value& b) { return !(a == b); }
  // True only when nothing tells the two apart: 1 differs from 1.0, and a list from a list that was made another time.
  static bool Identical(const Value& a, const Value& b) {
    if (a.tag_ != b.tag_) return false;
    switch (a.tag_) {
      case Tag::kNone:
        return true;
      case Tag::kBool:
        return a.as_.boolean == b.as_.boolean;
      case Tag::kInt:
        return a.as_.integer == b.as_.integer;
      case Tag::kFloat:
        return std::bit_cast<uint64_t>(a.as_.real) == std::bit_cast<uint64_t>(b.as_.real);
      case Tag::kText:
        return a.as_.shared == b.as_.shared || a.text() == b.text();
      case Tag::kList:
        return a.as_.shared == b.as_.shared;
    }
    return false;
  }

 private:
  enum class Tag : uint8_t { kNone, kBool, kInt, kFloat, kText, kList };
  struct Text : Counted {
    std::string text;
  };
  struct Items : Counted {
    List items;
  };

  bool counted() const { return tag_ >= Tag::kText; }
  void Swap(Value* other) {
    std::swap(tag_, other->tag_);
    std::swap(as_, other->as_);
  }
  void Free();
  static const Counted* NewText(absl::string_view text);
  static const Counted* NewList(List items);
  static const List& EmptyList();
  static int64_t Truncated(double v);

  Tag tag_ = Tag::kNone;
  union {
    int64_t integer = 0;
    bool boolean;
    double real;
    const Counted* shared;
  } as_;
};

// Reads JSON (also bare NaN and Infinity). Objects are refused: no knob holds one. Depth and size are bounded.
absl::StatusOr<Value> ValueFromJson(absl::string_view json);

}  // namespace flightplan
