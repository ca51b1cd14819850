// The configuration before anything is decided: upstream's defaults, the model's architecture, the caller's words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "resolver/derive/shape.h"
#include "resolver/plan/config.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// Class defaults (Origin::kDefault) < model (kModel) < layout, workload and pins (kCaller). A pin wins over the layout
// and the workload fields that mirror the same knob. Sizes that the caller left open stay at upstream's default of 1.
// `absent` (optional) receives the knobs that the model needs and the release does not have.
Config StartConfig(const NormalizedIntent& intent, std::vector<Knob>* absent = nullptr);

// What every later step reads and none changes: made once per request.
struct DerivedPlan {
  Config config;
  std::optional<ModelShape> shape;  // nothing: the model's parameters cannot be counted, which is a finding of its own
  std::vector<std::string> missing_features;  // of the model, that the target's release cannot build
};
DerivedPlan Derive(const NormalizedIntent& intent);

// Sizes that the caller left open although the layout hangs on them ("tensor_model_parallel_size" ...). Empty: the
// layout is closed.
std::vector<std::string> OpenLayoutFields(const NormalizedIntent& intent);

}  // namespace flightplan
