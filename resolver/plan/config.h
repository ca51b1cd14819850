// A configuration: one value per knob, and where each value came from.
#pragma once

#include <array>
#include <cstdint>

#include "resolver/plan/knob.h"

namespace flightplan {

enum class Origin : uint8_t {
  kAbsent,    // the target's release has no such knob, or nothing set it yet
  kDefault,   // the upstream class default
  kModel,     // from the model's architecture
  kCaller,    // written by the caller: never changed by us, only (and visibly) by upstream's own rules
  kDecided,   // chosen by one of our decisions
  kUpstream,  // set by a default, migration or overwrite of the target stack
};

class Config {
 public:
  const Value& Get(Knob knob) const { return values_[Index(knob)]; }
  Origin origin(Knob knob) const { return origins_[Index(knob)]; }
  // True when the caller, the model or a decision gave it: not a default, not absent.
  bool Given(Knob knob) const { return origins_[Index(knob)] >= Origin::kModel && origin(knob) != Origin::kUpstream; }
  void Set(Knob knob, Value value, Origin origin) {
    values_[Index(knob)] = std::move(value);
    origins_[Index(knob)] = origin;
  }

 private:
  static size_t Index(Knob knob) { return static_cast<size_t>(knob); }
  std::array<Value, kKnobCount> values_;
  std::array<Origin, kKnobCount> origins_{};
};

}  // namespace flightplan
