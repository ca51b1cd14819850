// What a rule found, and what to do about it. Facts are fields, so that no program has to parse the text.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/knob.h"

namespace flightplan {

enum class Severity { kError, kWarning, kInfo };

// Which question the finding answers. The two verdicts are kept apart: a config can be accepted and still not run.
enum class Verdict {
  kAccepted,  // the target stack's own configuration code says so
  kWillRun,   // later: model build, process groups, schedule, hardware, fit
  kAdvice,    // legal and runs; something better or worth knowing
};

// One assignment of a fix: a knob, or an environment variable when `env_var` is set.
struct Assignment {
  Knob knob{};
  std::string env_var;
  Value value;
  bool operator==(const Assignment&) const = default;
};
// All assignments of a patch belong together; applying them removes the finding.
using Patch = std::vector<Assignment>;

// A value the rule looked at.
struct Observed {
  std::string name;  // knob, environment variable, "te", "world_size" ...
  Value value;
};

struct Finding {
  absl::string_view rule_id;
  absl::string_view area;
  Severity severity = Severity::kError;
  Verdict verdict = Verdict::kAccepted;
  absl::string_view stage;   // upstream's stage that says it: "post_init", "validate", "mesh" ...
  std::string seen;          // "recompute_granularity=full, recompute_method unset"
  std::string needs;         // what must hold instead
  absl::string_view source;  // "Megatron-LM:megatron/core/transformer/transformer_config.py:1914"
  std::vector<Observed> observed;
  std::vector<Patch> fixes;
};

// One silent change of the target stack.
struct ConfigChange {
  absl::string_view rule_id;
  Knob knob{};
  std::string env_var;  // set when an environment variable was changed instead
  Value from;
  Value to;
  bool overrides_caller = false;  // the caller had written `from`
  absl::string_view source;
};

}  // namespace flightplan
