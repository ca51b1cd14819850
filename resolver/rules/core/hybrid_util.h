// Which models have several kinds of layers.
#pragma once

#include "absl/strings/match.h"
#include "resolver/rules/rule.h"

namespace flightplan {

inline bool IsHybridModel(const Facts& f) {
  return f.on(Knob::is_hybrid_model) || f.set(Knob::hybrid_layer_pattern) || f.set(Knob::hybrid_override_pattern);
}

// Whether its layers are those of a pattern, and whether such a layer is among them.
inline bool HasPattern(const Facts& f) {
  return f.set(Knob::hybrid_layer_pattern) || f.set(Knob::hybrid_override_pattern);
}
inline bool PatternNames(const Facts& f, char kind) {
  return absl::StrContains(f.text(Knob::hybrid_layer_pattern), kind) ||
         absl::StrContains(f.text(Knob::hybrid_override_pattern), kind);
}

}  // namespace flightplan
