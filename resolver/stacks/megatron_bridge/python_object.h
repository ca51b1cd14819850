// What the objects of a Python program are to Bridge: configurations, parts of them, and everything else, of which
// nothing is judged. Internal to its folder.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/reading.h"
#include "resolver/read/python_expression.h"
#include "resolver/stacks/megatron_bridge/override_reader.h"
#include "resolver/stacks/megatron_bridge/start.h"

namespace flightplan {

// An attribute of an object, or an entry of a dict.
struct PythonField {
  PythonResult result;
  Argument argument;         // the statement that sets it
  bool maybe = false;        // in a branch that may not be taken
  bool constructed = false;  // an argument of the call that made the object
};

// A configuration container.
struct PythonConfig {
  explicit PythonConfig(int release) : reader(release, &result) {}
  ParseResult result;
  OverrideReader reader;
  std::optional<Recipe> start;
  std::set<std::string> replaced;                     // sections that are other objects than the recipe's
  std::map<std::string, int, std::less<>> parts;      // objects of the program that are sections now
  std::map<std::string, std::vector<Argument>> open;  // statements whose effect is not known, by the reason
};

struct PythonObject {
  int number = -1;
  std::string name;         // the variable that it was first bound to
  std::string spelled;      // how the program writes what it does not make itself: "torch"
  std::string made_by;      // the last word of what was called to make it: "TrainingConfig", "dict"
  bool with_words = false;  // called with arguments
  bool module = false;      // or a class: no configuration
  bool trained = false;     // handed to what trains
  bool open = false;        // made with arguments that are not known: *all, **all
  bool part = false;        // of a configuration, now or before
  bool any_part = false;    // what a loop goes over that is not known: any part of a configuration
  int owner = -1;           // the configuration that it is a section of
  std::string section;
  std::map<std::string, PythonField, std::less<>> fields;
  std::map<std::string, int, std::less<>> children;  // attributes that are objects: self.cfg
  // Fields of known sections that no class has, and sections that there are not: faults of a configuration only.
  struct Strange {
    std::string section, field;
    Argument argument;
  };
  std::vector<Strange> strange;
  std::unique_ptr<PythonConfig> config;
};

class PythonObjects {
 public:
  explicit PythonObjects(int release) : release_(release) {}

  // Unknown, if there are too many.
  PythonResult New();
  PythonObject& Of(int object) { return *objects_[static_cast<size_t>(object)]; }
  const PythonObject& Of(int object) const { return *objects_[static_cast<size_t>(object)]; }
  int count() const { return static_cast<int>(objects_.size()); }
  bool IsConfig(int object) const { return Of(object).config != nullptr; }

  // What a call makes. `recipe`: what the function of this name sets, if it is one that is known.
  PythonResult Made(absl::string_view function, const std::vector<PythonArgument>& arguments,
                    const std::optional<Recipe>& recipe, const Argument& at);
  // Another object with the same values; itself, if it is no configuration.
  PythonResult Copied(const PythonResult& reference);

  // `reference`.field = result
  void Assign(const PythonResult& reference, absl::string_view field, const PythonResult& result, const Argument& at,
              bool maybe);
  PythonResult Read(const PythonResult& reference) const;
  // The statement changes the configuration, if the reference is to one, in a way that is not known.
  void NoteOpen(const PythonResult& reference, const Argument& at, const std::string& why);
  // The object that a reference comes to in the end, as the part of its configuration.
  PythonResult Resolved(PythonResult reference) const;

  // The object is a configuration if its name and what is set on it say so. Reports what is strange about one.
  void Settle(int object);
  // What was read, on top of the recipe. A field that is set on what may be any part is not known of any.
  ParseResult Finished(int object);

 private:
  static bool LooksLikeConfig(const PythonObject& object);
  static void Report(const PythonObject::Strange& strange, OverrideReader* reader);
  PythonConfig& Configured(PythonObject* object);
  void Section(PythonObject* object, const std::string& name, const PythonResult& result, const Argument& at,
               bool maybe);
  void Field(PythonObject* object, const std::string& section, const std::string& field, const PythonResult& result,
             const Argument& at, bool maybe, bool constructed = false);
  void TakePart(PythonObject* object, const std::string& name, int part, const Argument& at);
  void Replace(PythonObject* object, const std::string& section);
  PythonResult ValueOf(const PythonResult& result) const;
  std::optional<Value> NamedValue(Knob knob, const PythonResult& result) const;
  bool ReadClass(PythonConfig* config, const std::string& name, const PythonObject& made, const Argument& at) const;

  const int release_;
  size_t reported_ = 0;
  std::vector<std::unique_ptr<PythonObject>> objects_;
};

}  // namespace flightplan
