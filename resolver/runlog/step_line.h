// The lines of a training loop: Megatron-LM's, Megatron-Bridge's, LoongForge's, and those of their relatives that print
// the same (Megatron-DeepSpeed, NeMo 2).
#pragma once

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace flightplan {

// One report of the loop. 0: the line does not say.
struct StepLine {
  int64_t iteration = 0;
  int64_t total = 0;   // iterations of the whole run
  double step_ms = 0;  // mean of the iterations since the report before; always said
  double tflops = 0;   // 10^12 model FLOPs per second of one GPU, as the program counts them
  double tokens = 0;   // tokens per second of one GPU
  int64_t global_batch = 0;
  int64_t consumed = 0;  // samples
  int64_t skipped = 0;   // iterations since the report before whose update was skipped
  int64_t nan = 0;       // the same with a loss that is no number
  bool has_loss = false;
  double loss = 0;         // may be no number
  bool no_number = false;  // the loss or the gradient norm that it prints is infinite or no number
  double max_allocated_bytes = 0;
  double max_reserved_bytes = 0;
};

// Every report in the text, in order; a line may hold several. `complete`: the text goes on to the end of its line;
// else the last field may be cut, and is not taken. A report without a time, or with one that no step has, is none.
void ReadStepLines(absl::string_view text, bool complete, absl::FunctionRef<void(const StepLine&)> take);

// Whether a report begins in the text whose time must stand in the next line: terminals wrap what they show.
bool BeginsStepLine(absl::string_view text);

// Bridge's line of its own: "Step Time : 5.39s GPU utilization: 2347.0MODEL_TFLOP/s/GPU". Without an iteration.
std::optional<StepLine> ReadStepTime(absl::string_view text, bool complete);

}  // namespace flightplan
