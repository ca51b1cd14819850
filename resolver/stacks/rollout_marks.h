// What the records of slime and its forks share: their marks, which are `train.py` with flags that say how a rollout is
// made, and the checks of Megatron-LM that they run.
#pragma once

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/phase.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// Those of Megatron-LM's own program, but for its configuration container's.
inline constexpr Phase kRolloutPhases[] = {
    Phase::kParse, Phase::kCliValidate, Phase::kModel,    Phase::kModelMla, Phase::kDdp,    Phase::kOptimizer,
    Phase::kBuild, Phase::kMesh,        Phase::kSchedule, Phase::kHardware, Phase::kAdvice,
};

// No other trainer over Megatron-LM has two of these.
inline constexpr absl::string_view kRolloutMarks[] = {"--actor-num-nodes",
                                                      "--actor-num-gpus-per-node",
                                                      "--rollout-batch-size",
                                                      "--num-rollout",
                                                      "--n-samples-per-prompt",
                                                      "--hf-checkpoint",
                                                      "--prompt-data",
                                                      "--colocate",
                                                      "--ref-load",
                                                      "--max-tokens-per-gpu",
                                                      "--advantage-estimator"};
inline constexpr int kEnoughRolloutMarks = 2;

// Whether the program over Megatron-LM that this Python file is makes rollouts. In a header, since the records of the
// stacks know no other room.
inline bool MakesRollouts(absl::string_view script, absl::Span<const Argument> args) {
  return absl::EndsWith(script, ".py") &&
         std::count_if(args.begin(), args.end(), [&](const Argument& arg) {
           const absl::string_view flag = absl::string_view(arg.text).substr(0, arg.text.find('='));
           return std::find(std::begin(kRolloutMarks), std::end(kRolloutMarks), flag) != std::end(kRolloutMarks);
         }) >= kEnoughRolloutMarks;
}

}  // namespace flightplan
