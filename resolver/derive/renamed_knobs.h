// Knobs that upstream renamed, from release to release.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"

namespace flightplan {

struct RenamedKnob {
  Knob knob{};
  Value value;
  absl::string_view why;  // "renamed in Megatron-Core 0.18"
};

// What `env`'s release calls a knob that another release calls `knob`, and the value there. Empty: the name is the
// same, or was never another. `config`: the configuration that `knob` is part of; some renames hang on a second knob.
std::optional<RenamedKnob> RenameFor(Knob knob, const Value& value, const Config& config, const Environment& env);

}  // namespace flightplan
