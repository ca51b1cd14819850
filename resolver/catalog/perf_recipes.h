// The flat performance recipes that scripts/performance/run_script.py of Megatron-Bridge starts from.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flightplan {

struct PerfRecipe {
  absl::string_view function;   // "qwen3_30b_a3b_pretrain_16gpu_h100_bf16_config"
  absl::string_view model;      // with the task: "qwen3_30b_a3b_pretrain"
  absl::string_view target;     // GPU, precision and variant: "h100_bf16"
  int64_t gpus = 0;             //
  bool usual = false;           // of several GPU counts the one that the harness takes
  absl::string_view hf_model;   // of the Hugging Face hub; empty: not stated
  absl::string_view overrides;  // what it sets, in Bridge's own spelling, one a line
};
// Sorted by function.
absl::Span<const PerfRecipe> PerfRecipes();

const PerfRecipe* FindPerfRecipe(absl::string_view function);

// The recipe that the words of the harness choose, its own way: that of this number of GPUs, else its usual one, else
// the largest. Null: none that is known. `precision` as -c takes it ("fp8_cs").
struct PerfChoice {
  absl::string_view recipe;   // -mr
  absl::string_view task;     // --task
  absl::string_view gpu;      // -g
  absl::string_view dtype;    // -c
  absl::string_view variant;  // -cv; "v1" and "v2" are labels of old and choose none
  int64_t gpus = 0;
};
const PerfRecipe* ChoosePerfRecipe(const PerfChoice& choice);

}  // namespace flightplan
