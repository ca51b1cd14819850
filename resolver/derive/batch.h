// Batch sizes: how many microbatches a step has.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"

namespace flightplan {

// Microbatches of one step: global_batch_size / (micro_batch_size * data_parallel_size), rounded down. Nothing when a
// size is zero or the product does not fit.
std::optional<int64_t> NumMicrobatches(int64_t global_batch_size, int64_t micro_batch_size, int64_t data_parallel_size);

// The batch size that "0:768 250B:1536" starts with. Nothing when the schedule does not start at 0 or does not read.
std::optional<int64_t> FirstScheduledBatch(absl::string_view schedule);

// Microbatches of the first step of a configuration whose batch sizes and data parallel size are known.
std::optional<int64_t> StepMicrobatches(const Config& config, const Environment& env);

}  // namespace flightplan
