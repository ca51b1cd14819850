// The keys of verl's configuration for Megatron, as Hydra composes it: what an override may change without a '+'
// (volcengine/verl@b178a3cd5 verl/trainer/config/_generated_ppo_megatron_trainer.yaml).
#pragma once

#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan {

enum class VerlKey { kNone, kMap, kNull, kValue };  // kNone: there is no such key

// `path`: "actor_rollout_ref.actor.megatron.tensor_model_parallel_size".
VerlKey FindVerlKey(absl::string_view path);
std::vector<absl::string_view> VerlPaths();

}  // namespace flightplan
