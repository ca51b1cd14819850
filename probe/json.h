// As much JSON as the worker's protocol needs. The worker builds alone, so it brings its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flightplan::probe {

struct JsonMember;

class Json {
 public:
  enum class Kind { kNull, kBool, kNumber, kText, kList, kObject };

  Kind kind = Kind::kNull;
  bool truth = false;
  double number = 0;
  std::string text;
  std::vector<Json> list;
  std::vector<JsonMember> members;  // in the order of the text

  // Null where this is no object or has no such member.
  const Json* Find(std::string_view name) const;
  // The member's value, or `otherwise` where it is absent or of another kind.
  double NumberOr(std::string_view name, double otherwise) const;
  std::string TextOr(std::string_view name, std::string_view otherwise) const;
};

struct JsonMember {
  std::string name;
  Json value;
};

// Nothing, with `error` set to what and at which byte, for anything that is not one JSON value, or is nested deeper
// than 32.
std::optional<Json> ParseJson(std::string_view text, std::string* error);

// Appends members of one object: ObjectWriter(&out).Text("id", "hbm.copy").Number("value", 4e12).End().
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string* out) : out_(out) { *out_ += '{'; }

  ObjectWriter& Text(std::string_view name, std::string_view value);
  ObjectWriter& Number(std::string_view name, double value);  // NaN and infinities become null
  ObjectWriter& Bool(std::string_view name, bool value);
  // The name alone; the caller appends the value to the same string.
  ObjectWriter& Key(std::string_view name);
  // A member that is an object itself; end it before the next member.
  ObjectWriter Object(std::string_view name) {
    Key(name);
    return ObjectWriter(out_);
  }
  void End() { *out_ += '}'; }

 private:
  std::string* out_;
  bool first_ = true;
};

void AppendQuoted(std::string_view text, std::string* out);  // invalid UTF-8 becomes '?'
void AppendNumber(double value, std::string* out);           // shortest form that reads back the same

}  // namespace flightplan::probe
