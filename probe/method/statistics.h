// What repeated samples of one thing say about it.
#pragma once

#include <vector>

#include "probe/row.h"

namespace flightplan::probe {

struct MedianOf {
  double value = 0, low = 0, high = 0;
  int count = 0;
  // Share of repetitions in which [low, high] covers the true median: at least 0.95 from six samples on.
  double coverage = 0;
};

// The median with an interval from order statistics: no distribution is assumed but that samples are independent.
// Takes the narrowest symmetric pair of order statistics that covers at least 95 %; fewer than six samples cannot, and
// give their extremes. No samples: all zero.
MedianOf Median(std::vector<double> samples);

// The row of a spec from its samples: as they are, or work / microseconds. A sample that took no time is a fault of the
// timing: the row then has no samples.
Row MakeRow(const RowSpec& spec, const std::vector<double>& samples, bool checked);

// A dense GEMM meets the power limit on every healthy card, and training does too: it is told, but nothing is dropped.
inline constexpr char kPowerCap[] = "sw_power_cap";

// Was anything in force that makes samples between both states worthless: heat, a power brake, other processes?
bool Disturbed(const DeviceState& before, const DeviceState& after);

// Of several devices that work together: the slowest clock, the most heat and power, every reason, all other processes.
DeviceState WorstOf(const std::vector<DeviceState>& states);

Conditions Summarise(const std::vector<DeviceState>& states, int dropped_sample_count);

}  // namespace flightplan::probe
