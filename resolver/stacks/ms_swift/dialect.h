// ms-swift's command line: `megatron sft --tensor_model_parallel_size 2 --model Qwen/Qwen3-30B-A3B ...`.
#pragma once

#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// The words behind `megatron`: "sft", "pt" or "rlhf", arguments with underscores or dashes. What ms-swift leaves at its
// own default, or sets by itself, has Origin::kUpstream. The number of GPUs is NPROC_PER_NODE times NNODES of env.vars.
ParseResult ParseMsSwift(absl::Span<const Argument> args, const Environment& env);

Launch RenderMsSwift(const RenderInput& input);

}  // namespace flightplan
