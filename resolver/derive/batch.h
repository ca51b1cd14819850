// Batch sizes: how many microbatches a step has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"

namespace flightplan {

// Microbatches of one step: global_batch_size / (micro_batch_size * data_parallel_size), rounded down. Nothing when a
// size is zero or the product does not fit.
std::optional<int64_t> NumMicrobatches(int64_t global_batch_size, int64_t micro_batch_size, int64_t data_parallel_size);

// "0:768 250B:1536": each batch size with the tokens, or without a length of sequences the samples, after which it
// holds; those become samples. Nothing where upstream refuses it: it does not read, does not start at 0, takes two
// sizes at once, or one is not positive.
struct ScheduledBatch {
  int64_t threshold = 0, batch = 0;
};
std::optional<std::vector<ScheduledBatch>> ReadBatchSchedule(absl::string_view schedule, int64_t seq_length);
// The batch size that it starts with.
std::optional<int64_t> FirstScheduledBatch(absl::string_view schedule, int64_t seq_length = 0);

// Samples of a step: those of the schedule, which takes the place of global_batch_size, at its start, or at its end,
// which is most of a run. Nothing: neither is given, or the schedule does not read.
enum class PartOfRun : uint8_t { kStart, kMost };
std::optional<int64_t> StepBatch(const Config& config, PartOfRun part);

// Microbatches of the first step of a configuration whose batch sizes and data parallel size are known.
std::optional<int64_t> StepMicrobatches(const Config& config, const Environment& env);

}  // namespace flightplan
