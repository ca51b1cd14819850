// One value of one knob. Copying is cheap: text and lists are shared and immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace flightplan {

class Value {
 public:
  using List = std::vector<Value>;

  Value() = default;          // None: upstream's `None`, which differs from a knob that nobody gave
  Value(bool v) : rep_(v) {}  // NOLINT(google-explicit-constructor)
  Value(int v) : rep_(static_cast<int64_t>(v)) {}                               // NOLINT(google-explicit-constructor)
  Value(int64_t v) : rep_(v) {}                                                 // NOLINT(google-explicit-constructor)
  Value(double v) : rep_(v) {}                                                  // NOLINT(google-explicit-constructor)
  Value(absl::string_view v) : rep_(std::make_shared<const std::string>(v)) {}  // NOLINT
  Value(const char* v) : Value(absl::string_view(v)) {}                         // NOLINT
  Value(const std::string& v) : Value(absl::string_view(v)) {}                  // NOLINT
  Value(List v) : rep_(std::make_shared<const List>(std::move(v))) {}           // NOLINT

  bool is_none() const { return rep_.index() == 0; }
  bool is_bool() const { return rep_.index() == 1; }
  bool is_int() const { return rep_.index() == 2; }
  bool is_float() const { return rep_.index() == 3; }
  bool is_text() const { return rep_.index() == 4; }
  bool is_list() const { return rep_.index() == 5; }
  bool is_number() const { return is_int() || is_float(); }

  // Python's truth: None, false, 0, "" and [] are false.
  bool truthy() const;
  // Numbers and bools as an integer (floats truncate); 0 for anything else.
  int64_t integer() const;
  // Numbers and bools as a double; 0 for anything else.
  double real() const;
  // The text, or "" when it is not text. Valid as long as any copy of this value lives.
  absl::string_view text() const;
  // The items, or an empty list when it is not a list.
  const List& list() const;

  // As JSON: null, true, 3, 0.5, "x", ["a",1].
  std::string ToJson() const;
  // As a person writes it on a command line: true, 3, x, a,b.
  std::string ToText() const;

  // Python's `==` between config values: 1 == 1.0, but true differs from "true".
  friend bool operator==(const Value& a, const Value& b);
  friend bool operator!=(const Value& a, const Value& b) { return !(a == b); }

 private:
  std::variant<std::monostate, bool, int64_t, double, std::shared_ptr<const std::string>, std::shared_ptr<const List>>
      rep_;
};

// Reads JSON (also bare NaN and Infinity). Objects are refused: no knob holds one. Depth and size are bounded.
absl::StatusOr<Value> ValueFromJson(absl::string_view json);

}  // namespace flightplan
