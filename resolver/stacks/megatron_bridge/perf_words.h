// What the choices of the performance harness's flags take, and what a person who wrote another word meant. Internal to
// its folder.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/stacks/megatron_bridge/perf_flags.h"

namespace flightplan {

// `text` is one of the flag's words, or the flag takes any. --cuda_graph_scope takes several, with commas.
bool IsChoice(const PerfFlag& flag, absl::string_view text);
// "one of bf16|fp8_cs|fp8_mx|fp8_sc|nvfp4: did you mean fp8_mx?"
std::string ChoiceNeeds(const PerfFlag& flag, absl::string_view text);

// "did you mean --num_gpus?", or that there is no such flag, or which of several it may be.
std::string FlagNeeds(absl::string_view word, const std::vector<const PerfFlag*>& begin_so);

}  // namespace flightplan
