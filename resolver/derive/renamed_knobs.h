// Knobs and values that have other names in another release or another stack.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"

namespace flightplan {

struct RenamedKnob {
  Knob knob{};
  Value value;                                      // None: nothing that the release has a word for
  absl::string_view why;                            // "renamed in Megatron-Core 0.18"
  Value lost = {};                                  // of the value, what the release has no word for; None: nothing
  std::vector<std::pair<Knob, Value>> beside = {};  // what else says it there
};

// What `env`'s release calls a knob that another release calls `knob`, and the value there. Empty: the name is the
// same, or was never another. `config`: the configuration that `knob` is part of; some renames hang on a second knob.
std::optional<RenamedKnob> RenameFor(Knob knob, const Value& value, const Config& config, const Environment& env);

// True if `env`'s release has another name for the knob, whatever its value: what it leaves unset counts under that.
bool IsRenamed(Knob knob, const Environment& env);

struct RenamedValue {
  Value value;
  absl::string_view why;  // as RenamedKnob's
};

// What `env`'s release and stack call a value that others call `value`. Empty: the same.
std::optional<RenamedValue> ValueNameFor(Knob knob, const Value& value, const Environment& env);

}  // namespace flightplan
