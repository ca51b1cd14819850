// The effect of changing knobs, from two forecasts: the parts that stay the same cancel with their errors, so a
// difference is known better than either step.
#pragma once

#include "resolver/estimate/step.h"

namespace flightplan {

struct StepEffect {
  double change = 0, low = 0, high = 0;  // relative change of the step; negative is faster
  // The interval reaches over zero: only a run can tell.
  bool needs_ab() const { return low < 0 && high > 0; }
};

// A step by wall, microseconds.
struct WallTimes {
  double us = 0;  // the whole step
  double compute = 0, communication = 0, host = 0, bubble = 0, optimizer = 0;
};

// A relative change for "%+.0f %%": in whole per cent, and never "-0".
double WholePercent(double change);

StepEffect EffectOf(const WallTimes& from, const WallTimes& to);
StepEffect EffectOf(const StepForecast& from, const StepForecast& to);

// The change of the step above which no change of its parts is certain: the lower end of what `errors` half-widths of
// its interval leave is not below zero. Negative.
double LeastCertain(double errors);

}  // namespace flightplan
