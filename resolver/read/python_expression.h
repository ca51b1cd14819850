// The values of Python's expressions, as far as their text says them. Nothing is executed; what names stand for and
// what calls make is the caller's to say.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/value.h"

namespace flightplan {

// What an expression comes to. A reference is of an object that the caller knows by its number: the path ("model")
// leads to a part of it.
struct PythonResult {
  enum class Kind { kUnknown, kValue, kReference, kFunction };
  Kind kind = Kind::kUnknown;
  Value value;
  int object = -1;  // of kReference and kFunction
  std::string path;

  static PythonResult Of(Value known) { return {Kind::kValue, std::move(known), -1, ""}; }
  static PythonResult Reference(int object, std::string path) {
    return {Kind::kReference, Value(), object, std::move(path)};
  }
  bool known() const { return kind == Kind::kValue; }
};

struct PythonArgument {
  std::string name;  // of name=value, or of an entry of a dict; or empty
  PythonResult result;
  bool spread = false;  // *all or **all
};

// What names stand for, which only the caller knows.
class PythonNames {
 public:
  virtual ~PythonNames() = default;
  virtual PythonResult Named(absl::string_view name) = 0;
  // `text`: what is called, as it is written: "logging.info".
  virtual PythonResult Called(absl::string_view text, const PythonResult& callee,
                              const std::vector<PythonArgument>& arguments) = 0;
  // {"a": 1}; of an entry whose key is not known the name is empty.
  virtual PythonResult Dict(const std::vector<PythonArgument>& entries) = 0;
  // of[key], of what is no list.
  virtual PythonResult Item(const PythonResult& of, const PythonResult& key) = 0;
  // The value that a reference has, or something unknown.
  virtual PythonResult Read(const PythonResult& reference) = 0;
};

// Literals, lists, arithmetic, comparisons and what `names` knows.
PythonResult EvaluatePython(absl::string_view expression, PythonNames* names);

}  // namespace flightplan
