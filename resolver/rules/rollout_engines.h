// The trainers whose launches start a rollout engine on the GPUs that they train on, in the same process environment.
// ROLL's does too and takes expandable segments out of the engine's (roll/third_party/vllm/__init__.py:64).
#pragma once

#include <algorithm>
#include <iterator>

#include "absl/strings/string_view.h"
#include "resolver/plan/stack.h"

namespace flightplan {

inline bool StartsRolloutEngine(const Stack& stack) {
  constexpr absl::string_view kTrainers[] = {"verl", "nemo-rl", "slime", "miles", "vime"};
  return std::any_of(std::begin(kTrainers), std::end(kTrainers),
                     [&](absl::string_view name) { return name == stack.name; });
}

}  // namespace flightplan
