// The step time of a run, from the reports of its loop.
#pragma once

#include <cstdint>

#include "resolver/runlog/run_log.h"

namespace flightplan {

// The rule, in its order:
// - what counts is the batch of the last report; reports with another one (ramp-up) are left out;
// - warm-up is the first report after each start, and those right behind it that lie above the fence;
// - the fence is kFenceDeviations robust standard deviations (1.4826 MAD) around the median of what is neither, and at
//   least kFenceShare of it; reports outside are outliers (checkpoints, evaluations, a slow node);
// - the step time is the median of the rest.
// Where a run has nothing but first reports, these are taken and `only_warm_up` says so.
inline constexpr double kFenceDeviations = 5;
inline constexpr double kFenceShare = 0.05;

struct StepStatistics {
  int64_t used = 0;  // reports; 0: there is no step time
  int64_t warm_up = 0, other_batch = 0, outliers = 0;
  int64_t checkpoint_outliers = 0, evaluation_outliers = 0;  // of them, by what the output says happened
  bool only_warm_up = false;
  bool unnumbered = false;  // Bridge's own lines, which name no iteration
  int64_t first_iteration = 0, last_iteration = 0;
  double median_ms = 0;
  double low_ms = 0, high_ms = 0;  // 10th and 90th percentile of what is used
  double error_ms = 0;             // half-width of the 95 % interval of the median; 0: fewer than five reports
  double slowest_ms = 0;           // among the outliers; 0: none is slow
  double tflops = 0;               // of one GPU, median; 0: not printed
  double tokens = 0;               // per second of one GPU, median; 0: not printed
  int64_t global_batch = 0;        // 0: not printed
  double optimizer_ms = 0;         // of a step, by the run's own timers, median; 0: not printed
};

StepStatistics StatisticsOf(const RunLog& log);

}  // namespace flightplan
