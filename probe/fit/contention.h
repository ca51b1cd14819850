// What a kernel that computes and one that communicates cost each other when they run at once, against the SMs that the
// communication holds.
#pragma once

#include <optional>
#include <vector>

#include "probe/fit/samples.h"

namespace flightplan::fit {

// Times longer than alone while both run: 1.3 is thirty per cent longer.
struct Slowdown {
  double compute = 1, communication = 1;

  // What running both at once does per unit of time, beyond running them in turn: 1 is all of the other for nothing,
  // 0 is no gain.
  double Gain() const { return 1 / compute + 1 / communication - 1; }
};

struct CorunSample {
  double sms = 0;
  Slowdown slowdown;
  double error = 0;  // of both, relative half-width
};

// compute = compute_at_0 + compute_slope * s / (S - s): taking s of S SMs stretches a wave-filled GEMM by S / (S - s).
// communication = communication_at_0 + communication_slope * s / S.
struct CorunCurve {
  double total_sms = 0;
  double compute_at_0 = 1, compute_slope = 0;
  double communication_at_0 = 1, communication_slope = 0;
  double error = 0;  // relative half-width of both

  Slowdown At(double sms) const;
  // Half-width of At(sms).Gain() where both slowdowns have this relative one.
  double GainError(double sms, double of_both) const;
  double GainError(double sms) const { return GainError(sms, error); }
};

// Nothing without a usable sample (SMs 0..total, both slowdowns at least 0.5). One SM count gives a curve through it
// that rises as the ideal one does.
std::optional<CorunCurve> FitCorun(const std::vector<CorunSample>& samples, double total_sms);

}  // namespace flightplan::fit
