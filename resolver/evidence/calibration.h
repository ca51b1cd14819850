// How far off the forecast is on this GPU system, by the runs that were reported from it.
//
// The logarithm of measured over forecast is a Gaussian variable whose spread is the forecast's own band. Runs share
// part of it: what is particular to the machines, to the model, to the layout. What is known of some runs then says
// something about another one (simple kriging), less the less they share; repeats of one run never say more than one
// run. Without a run, nothing changes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "resolver/evidence/measurement.h"
#include "resolver/evidence/reported_runs.h"

namespace flightplan {

// Runs of a calibration at most: the nearest ones.
inline constexpr size_t kMaxCalibrationRuns = 24;

// A forecast and the run that it is for.
struct CalibrationQuestion {
  Metric metric = Metric::kStepTime;
  std::string model_class;
  RunLayout layout;
  int64_t gpu_count = 0;
  Precision precision = Precision::kBf16;
  Target target{};
  double forecast = 0, low = 0, high = 0;
};

struct Calibration {
  // Of the forecast: what it is multiplied with, and the ends of the new band.
  double factor = 1, low = 1, high = 1;
  int runs = 0;                          // distinct ones that it rests on; 0: nothing is known, nothing changes
  std::vector<const Measurement*> from;  // those that say most, best first, at most 5
};

// `reported`: of the question's GPU system and metric.
Calibration Calibrate(const CalibrationQuestion& question, const RunTable& reported);

}  // namespace flightplan
