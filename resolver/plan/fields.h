// Reading and writing the fields of a plain struct by name, from one table of member pointers: the YAML catalogue, the
// Hugging Face import, JSON output and their error messages all go through it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "resolver/plan/value.h"

namespace flightplan {

template <class T>
struct Field {
  using Member = std::variant<std::string T::*, std::optional<std::string> T::*, std::vector<std::string> T::*,
                              int64_t T::*, std::optional<int64_t> T::*, std::vector<int64_t> T::*,
                              std::optional<double> T::*, bool T::*, std::optional<bool> T::*>;
  absl::string_view name;
  Member member;
  int64_t min = 0;  // of numbers, and of the items of a list of numbers
  int64_t max = std::numeric_limits<int64_t>::max();
  absl::string_view choices = {};  // of text: '|' separated; empty: any
  double scale = 1;                // the member holds the written number times this
};

namespace internal {

// What a field of a given kind accepts, without knowing the struct.
struct Limits {
  int64_t min;
  int64_t max;
  absl::string_view choices;
};
absl::Status ReadText(const Value& value, const Limits& limits, std::string* out);
absl::Status ReadInt(const Value& value, const Limits& limits, int64_t* out);
absl::Status ReadReal(const Value& value, const Limits& limits, double* out);
absl::Status ReadBool(const Value& value, bool* out);
absl::Status ReadTexts(const Value& value, std::vector<std::string>* out);
absl::Status ReadInts(const Value& value, const Limits& limits, std::vector<int64_t>* out);

inline absl::Status Read(const Value& v, const Limits& l, std::string* out) { return ReadText(v, l, out); }
inline absl::Status Read(const Value& v, const Limits& l, int64_t* out) { return ReadInt(v, l, out); }
inline absl::Status Read(const Value& v, const Limits& l, double* out) { return ReadReal(v, l, out); }
inline absl::Status Read(const Value& v, const Limits&, bool* out) { return ReadBool(v, out); }
inline absl::Status Read(const Value& v, const Limits&, std::vector<std::string>* out) { return ReadTexts(v, out); }
inline absl::Status Read(const Value& v, const Limits& l, std::vector<int64_t>* out) { return ReadInts(v, l, out); }
template <class U>
absl::Status Read(const Value& value, const Limits& limits, std::optional<U>* out) {
  if (value.is_none()) {
    out->reset();
    return absl::OkStatus();
  }
  U item{};
  if (absl::Status status = Read(value, limits, &item); !status.ok()) return status;
  *out = std::move(item);
  return absl::OkStatus();
}

inline void Scale(double scale, std::optional<double>* member) {
  if (member->has_value()) **member *= scale;
}
template <class U>
void Scale(double, U*) {}

inline Value Write(const std::string& v, double) { return Value(v); }
inline Value Write(int64_t v, double) { return Value(v); }
inline Value Write(double v, double scale) { return Value(v / scale); }
inline Value Write(bool v, double) { return Value(v); }
template <class U>
Value Write(const std::vector<U>& v, double) {
  return Value(Value::List(v.begin(), v.end()));
}
template <class U>
Value Write(const std::optional<U>& v, double scale) {
  return v.has_value() ? Write(*v, scale) : Value();
}

}  // namespace internal

// Sets one field; the message says what would be right but not where (the caller knows the file or JSON path).
template <class T>
absl::Status SetField(const Field<T>& field, const Value& value, T* object) {
  return std::visit(
      [&](auto member) {
        absl::Status status =
            internal::Read(value, internal::Limits{field.min, field.max, field.choices}, &(object->*member));
        if (status.ok()) internal::Scale(field.scale, &(object->*member));
        return status;
      },
      field.member);
}

template <class T>
Value GetField(const Field<T>& field, const T& object) {
  return std::visit([&](auto member) { return internal::Write(object.*member, field.scale); }, field.member);
}

}  // namespace flightplan
