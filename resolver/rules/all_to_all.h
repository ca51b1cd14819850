// The way off a flex dispatcher.
#pragma once

#include "absl/strings/match.h"
#include "resolver/rules/rule.h"

namespace flightplan {

// What names a flex backend goes with it, as with every fix that leaves flex (core/fix_util.cc).
inline Patch ToAllToAll() { return {Assign(Knob::moe_token_dispatcher_type, "alltoall")}; }

// By their names: DeepEP does not run on them.
inline bool RackOfGraceBlackwell(const Facts& f) {
  return absl::StrContains(f.env().gpu_name, "GB200") || absl::StrContains(f.env().gpu_name, "GB300");
}

}  // namespace flightplan
