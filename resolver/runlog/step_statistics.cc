#include "resolver/runlog/step_statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/types/span.h"

namespace flightplan {
namespace {

constexpr double kMadToDeviation = 1.4826;      // of a normal distribution
constexpr double kMedianError = 1.96 * 1.2533;  // half-width of the median's interval, in deviations / sqrt(n)
constexpr size_t kLeastForError = 5;

// Of sorted values, between neighbours; `at` 0..1.
double Quantile(const std::vector<double>& sorted, double at) {
  if (sorted.empty()) return 0;
  const double place = at * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return Quantile(values, 0.5);
}

struct Fence {
  double low = 0, high = 0, deviation = 0;
  bool Holds(double value) const { return low <= value && value <= high; }
};

Fence FenceOf(const std::vector<double>& values) {
  const double median = Median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - median));
  Fence fence;
  fence.deviation = kMadToDeviation * Median(std::move(distances));
  const double reach = std::max(kFenceDeviations * fence.deviation, kFenceShare * median);
  fence.low = median - reach;
  fence.high = median + reach;
  return fence;
}

void CountOutlier(const StepSample& sample, const Fence& fence, StepStatistics* out) {
  ++out->outliers;
  if (sample.step_ms < fence.low) return;
  out->slowest_ms = std::max<double>(out->slowest_ms, sample.step_ms);
  if (sample.event == StepEvent::kCheckpoint) ++out->checkpoint_outliers;
  if (sample.event == StepEvent::kEvaluation) ++out->evaluation_outliers;
}

// The reports that the step time is taken from.
std::vector<StepSample> Steady(absl::Span<const StepSample> samples, StepStatistics* out) {
  std::vector<double> later;
  for (const StepSample& sample : samples) {
    if (sample.since_start > 0) later.push_back(sample.step_ms);
  }
  out->only_warm_up = later.empty();
  if (later.empty()) return {samples.begin(), samples.end()};
  const Fence fence = FenceOf(later);
  std::vector<StepSample> steady;
  bool warming = false;
  for (const StepSample& sample : samples) {
    warming = sample.since_start == 0 || (warming && sample.step_ms > fence.high);
    if (warming) {
      ++out->warm_up;
    } else if (fence.Holds(sample.step_ms)) {
      steady.push_back(sample);
    } else {
      CountOutlier(sample, fence, out);
    }
  }
  return steady;
}

double MedianOf(const std::vector<StepSample>& samples, float StepSample::*field) {
  std::vector<double> values;
  for (const StepSample& sample : samples) {
    if (sample.*field > 0) values.push_back(sample.*field);
  }
  return Median(std::move(values));
}

}  // namespace

StepStatistics StatisticsOf(const RunLog& log) {
  StepStatistics out;
  out.unnumbered = log.steps.empty();
  out.optimizer_ms = Median({log.optimizer_ms.begin(), log.optimizer_ms.end()});
  const std::vector<StepSample>& all = out.unnumbered ? log.bridge_steps : log.steps;
  if (all.empty()) return out;
  std::vector<StepSample> samples;
  out.global_batch = all.back().global_batch;
  for (const StepSample& sample : all) {
    if (sample.global_batch == out.global_batch) samples.push_back(sample);
  }
  out.other_batch = static_cast<int64_t>(all.size() - samples.size());
  const std::vector<StepSample> steady = Steady(samples, &out);
  if (steady.empty()) return out;
  out.used = static_cast<int64_t>(steady.size());
  std::vector<double> times;
  out.first_iteration = out.last_iteration = steady.front().iteration;
  for (const StepSample& sample : steady) {
    times.push_back(sample.step_ms);
    out.first_iteration = std::min(out.first_iteration, sample.iteration);
    out.last_iteration = std::max(out.last_iteration, sample.iteration);
  }
  std::sort(times.begin(), times.end());
  out.median_ms = Quantile(times, 0.5);
  out.low_ms = Quantile(times, 0.1);
  out.high_ms = Quantile(times, 0.9);
  if (times.size() >= kLeastForError) {
    out.error_ms = kMedianError * FenceOf(times).deviation / std::sqrt(static_cast<double>(times.size()));
  }
  out.tflops = MedianOf(steady, &StepSample::tflops);
  out.tokens = MedianOf(steady, &StepSample::tokens);
  // Bridge prints its own rate beside a loop's report without one.
  if (out.tflops <= 0 && !out.unnumbered && !log.bridge_steps.empty()) {
    StepStatistics bridge;
    out.tflops = MedianOf(Steady(log.bridge_steps, &bridge), &StepSample::tflops);
  }
  return out;
}

}  // namespace flightplan
