#include "probe/method/statistics.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace flightplan::probe {
namespace {

constexpr double kCoverage = 0.95;

// P(Binomial(n, 1/2) <= k).
double BinomialBelow(int n, int k) {
  double term = std::pow(0.5, n), sum = 0;  // n is at most some hundreds: no underflow that matters
  for (int i = 0; i <= k; ++i) {
    sum += term;
    term *= static_cast<double>(n - i) / (i + 1);
  }
  return sum;
}

double Middle(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

template <class T, class Get>
T Extreme(const std::vector<DeviceState>& states, Get get) {
  T most = 0;
  for (const DeviceState& state : states) most = std::max(most, static_cast<T>(get(state)));
  return most;
}

}  // namespace

MedianOf Median(std::vector<double> samples) {
  samples.erase(std::remove_if(samples.begin(), samples.end(), [](double x) { return !std::isfinite(x); }),
                samples.end());
  MedianOf median;
  if (samples.empty()) return median;
  std::sort(samples.begin(), samples.end());
  const int n = static_cast<int>(samples.size());
  // [x_(k), x_(n-1-k)], counted from 0, misses the median with probability 2 P(B <= k).
  int k = 0;
  while (k + 1 < n - 2 - k && 1 - 2 * BinomialBelow(n, k + 1) >= kCoverage) ++k;
  median.value = Middle(samples);
  median.low = samples[static_cast<size_t>(k)];
  median.high = samples[static_cast<size_t>(n - 1 - k)];
  median.count = n;
  median.coverage = std::max(0.0, 1 - 2 * BinomialBelow(n, k));
  return median;
}

Row MakeRow(const RowSpec& spec, const std::vector<double>& samples, bool checked) {
  const MedianOf median = Median(samples);
  Row row{.spec = spec, .value = median.value, .low = median.low, .high = median.high};
  row.sample_count = median.count;
  row.checked = checked;
  if (median.low < 0 || (spec.work > 0 && median.low <= 0)) return Row{.spec = spec};
  if (spec.work > 0) {
    const double per_second = spec.work * 1e6;
    row.value = per_second / median.value;
    row.low = per_second / median.high;
    row.high = per_second / median.low;
  }
  return row;
}

bool Disturbed(const DeviceState& before, const DeviceState& after) {
  for (const DeviceState* state : {&before, &after}) {
    if (state->foreign_process_count > 0) return true;
    for (const std::string& reason : state->throttle_reasons) {
      if (reason != kPowerCap) return true;
    }
  }
  return false;
}

DeviceState WorstOf(const std::vector<DeviceState>& states) {
  DeviceState worst;
  std::set<std::string> reasons;
  const auto slower = [](int* mine, int other) {
    if (other >= 0 && (*mine < 0 || other < *mine)) *mine = other;
  };
  for (const DeviceState& state : states) {
    slower(&worst.sm_clock_mhz, state.sm_clock_mhz);
    slower(&worst.memory_clock_mhz, state.memory_clock_mhz);
    worst.power_watts = std::max(worst.power_watts, state.power_watts);
    worst.power_limit_watts = std::max(worst.power_limit_watts, state.power_limit_watts);
    worst.temperature_celsius = std::max(worst.temperature_celsius, state.temperature_celsius);
    worst.foreign_process_count += state.foreign_process_count;
    reasons.insert(state.throttle_reasons.begin(), state.throttle_reasons.end());
  }
  worst.throttle_reasons.assign(reasons.begin(), reasons.end());
  return worst;
}

Conditions Summarise(const std::vector<DeviceState>& states, int dropped_sample_count) {
  Conditions conditions;
  conditions.dropped_sample_count = dropped_sample_count;
  std::vector<double> clocks;
  std::set<std::string> reasons;
  for (const DeviceState& state : states) {
    if (state.sm_clock_mhz > 0) clocks.push_back(state.sm_clock_mhz);
    reasons.insert(state.throttle_reasons.begin(), state.throttle_reasons.end());
  }
  conditions.sm_clock_mhz = static_cast<int>(std::lround(Median(clocks).value));
  conditions.memory_clock_mhz = Extreme<int>(states, [](const DeviceState& s) { return s.memory_clock_mhz; });
  conditions.power_watts = Extreme<double>(states, [](const DeviceState& s) { return s.power_watts; });
  conditions.power_limit_watts = Extreme<double>(states, [](const DeviceState& s) { return s.power_limit_watts; });
  conditions.temperature_celsius = Extreme<int>(states, [](const DeviceState& s) { return s.temperature_celsius; });
  conditions.throttle_reasons.assign(reasons.begin(), reasons.end());
  return conditions;
}

}  // namespace flightplan::probe
