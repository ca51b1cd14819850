// The JSON Schema of one knob in a YAML file. Internal to yaml_schema.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/config.h"
#include "resolver/plan/knob.h"

namespace flightplan {

// Members of a JSON object, in the order in which they were added; each stands on a line of its own.
class Members {
 public:
  void Add(absl::string_view name, absl::string_view json);
  std::string Object() const;

 private:
  std::string text_;
};

std::string AnyOf(const std::vector<std::string>& schemas);

// Which knobs a format has as keys, and what is said of them.
struct SchemaFormat {
  absl::string_view title;
  absl::string_view stack;  // "Bridge": in front of its releases
  const Config& defaults;
  ReleaseRange (*releases)(Knob knob) = nullptr;     // of a knob; empty where no covered release has it
  int first_release = 0;                             // covered
  bool with_flags = true;                            // Megatron-LM's flags are other names of its keys
  absl::string_view (*own_choices)(Knob) = nullptr;  // instead of those of the knob table, where not empty
  bool open_models = false;                          // classes of its own take further words for what a model is
};

// A release has the knob at all.
inline bool Has(ReleaseRange releases) { return releases.since <= releases.until; }

// What the schemas of knobs refer to, as "#/$defs/...". `object`: a map that may stand for a value; empty: none may.
Members KnobDefinitions(const std::string& object, bool numbers_are_switches = false);

// The schema of the knob's value, with description and default.
std::string KnobSchema(Knob knob, const SchemaFormat& format);

}  // namespace flightplan
