// Which models have several kinds of layers.
#pragma once

#include "resolver/rules/rule.h"

namespace flightplan {

inline bool IsHybridModel(const Facts& f) {
  return f.on(Knob::is_hybrid_model) || f.set(Knob::hybrid_layer_pattern) || f.set(Knob::hybrid_override_pattern);
}

}  // namespace flightplan
