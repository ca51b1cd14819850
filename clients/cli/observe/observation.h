// A run beside its forecast, as values: what both say, and what of it can be compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/value.h"
#include "resolver/runlog/memory_snapshot.h"
#include "resolver/runlog/run_log.h"
#include "resolver/runlog/step_statistics.h"
#include "resolver/runlog/trace.h"

namespace flightplan::cli {

enum class Inside { kUnknown, kInside, kAbove, kBelow };

// One figure, forecast and measured. Nothing: not said.
struct ComparedFigure {
  std::string name;  // "step_time_us", "flops_per_second_per_gpu", "tokens_per_second_per_gpu", "allocated_bytes",
                     // "compute_ratio", "activation_bytes" ...
  std::optional<v1::Range> forecast;
  std::optional<double> measured;
  int stage = -1;             // pipeline stage that it is about; -1: the whole run
  bool at_least = false;      // measured before the peak: more may have been needed later
  bool follows_step = false;  // a rate, whose verdict is the step's
  // Against the forecast's band; a figure without one is neither inside nor outside.
  Inside inside() const;
};

// A value that the run had and the launch has not.
struct ValueMismatch {
  std::string name;
  std::string launch, run;
  bool identity = false;  // of the model, the batch or the layout: it is another run
};

struct Observation {
  RunLog log;
  StepStatistics steps;
  TraceSummary trace;
  MemorySnapshot snapshot;
  v1::ValidateConfigResponse launch;  // of the launch, or of the run's own arguments
  bool has_launch = false;            // something was judged
  std::vector<ValueMismatch> mismatches;
  std::vector<ComparedFigure> figures;  // in the page's order; none where the run is another one
  // Where the difference most likely is, each with the figures that say so; empty: unknown.
  std::vector<std::string> causes;
  int64_t gpu_count = 0;   // of the launch; 0: not said
  int64_t seq_length = 0;  // 0: not said
  int64_t global_batch = 0;
  double peak_allocated = 0, peak_device = 0;  // bytes, of the fullest GPU; 0: not said

  bool MatchesLaunch() const;
  // The run said something that tells it from a run of another launch.
  bool SaysItsLaunch() const { return log.reports > 0 || !log.arguments.empty(); }
};

// `gpu_count`: 0 where nobody said.
Observation Observe(RunLog log, const v1::ValidateConfigResponse* launch, int64_t gpu_count,
                    const TraceSummary& trace = {}, const MemorySnapshot& snapshot = {});

// A printed argument as the knob's value: Python's lists without brackets and quotes. Nothing: it does not suit the
// knob, as an object that Python prints.
std::optional<Value> PrintedValue(Knob knob, const std::string& printed);

}  // namespace flightplan::cli
