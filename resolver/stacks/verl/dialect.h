// verl's overrides: `python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer
// actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 ...`.
#pragma once

#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// The actor's training. What verl's files say, or its workers set, has Origin::kUpstream.
ParseResult ParseVerl(absl::Span<const Argument> args, const Environment& env);

// A launch of GRPO on the GPUs that the rollouts use too.
Launch RenderVerl(const RenderInput& input);

}  // namespace flightplan
