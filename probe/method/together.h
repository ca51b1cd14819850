// What two pieces of work cost each other while both run, from when each of them began and ended.
#pragma once

#include <algorithm>
#include <cmath>

namespace flightplan::probe {

// Microseconds. Neither waits for room in its own time: that is a figure of its own (corun.start).
struct Together {
  double compute_alone = 0, other_alone = 0;
  double compute = 0, other = 0;  // beside each other, each from its own start to its own end
  double lead = 0;                // from the other's start to compute's

  // Whether they ran beside each other at all. With one hardware queue they may not.
  bool Met() const { return ComputeSlowdown() > 0 && OtherSlowdown() > 0; }
  double ComputeSlowdown() const { return Slowdown(compute_alone, compute, lead, other); }
  double OtherSlowdown() const { return Slowdown(other_alone, other, -lead, compute); }

 private:
  // `ahead`: from the start of theirs to the start of mine. What runs before and after the overlap runs as if alone;
  // what of the work is left then was done in the time of the overlap. NaN: they hardly met.
  static double Slowdown(double alone, double mine, double ahead, double theirs) {
    const double begin = std::max(0.0, ahead), end = std::min(ahead + mine, theirs);  // of the overlap
    const double before = std::max(0.0, -ahead), after = std::max(0.0, ahead + mine - theirs);
    const double overlap = end - begin, done = alone - before - after;
    return overlap > 0 && done > 0 ? overlap / done : NAN;
  }
};

}  // namespace flightplan::probe
