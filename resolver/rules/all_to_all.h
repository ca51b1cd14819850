// The way off a flex dispatcher.
#pragma once

#include "absl/strings/match.h"
#include "resolver/rules/rule.h"

namespace flightplan {

// A backend that stays behind alone would be the next finding, whose fix is the flex dispatcher again.
inline Patch ToAllToAll(const Facts& f) {
  Patch patch = {Assign(Knob::moe_token_dispatcher_type, "alltoall")};
  if (f.given(Knob::moe_flex_dispatcher_backend) && f.set(Knob::moe_flex_dispatcher_backend)) {
    patch.push_back(Assign(Knob::moe_flex_dispatcher_backend, Value()));
  }
  return patch;
}

// By their names: DeepEP does not run on them.
inline bool RackOfGraceBlackwell(const Facts& f) {
  return absl::StrContains(f.env().gpu_name, "GB200") || absl::StrContains(f.env().gpu_name, "GB300");
}

}  // namespace flightplan
