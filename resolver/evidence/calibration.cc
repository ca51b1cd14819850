#include "resolver/evidence/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace flightplan {
namespace {

// A band holds 95 % of a normal variable.
constexpr double kBandSigmas = 1.96;
// How much of the forecast's error two runs share. What they have in common adds up; tests/evidence/calibration_check
// judges the shares by leaving out one published run after the other.
constexpr double kGpuShare = 0.35, kClusterShare = 0.10, kStackShare = 0.15, kModelShare = 0.20, kLayoutShare = 0.20;
// Repeated runs of one configuration differ by a per cent, peaks of memory by less.
constexpr double kStepNoise = 0.01, kMemoryNoise = 0.005;
// No band is narrower: the next run differs from the last by its noise.
constexpr double kLeastSigma = 0.01;

// Repeats of one run, as one.
struct Run {
  const Measurement* first = nullptr;  // the newest
  double log_ratio = 0;                // mean of ln(measured / forecast)
  double sigma = 0;                    // of the forecast
  double noise = 0;                    // variance of the mean
  double shared = 0;                   // with the question
};

double Sigma(double low, double high) {
  return low > 0 && high > low ? std::log(high / low) / (2 * kBandSigmas) : kLeastSigma;
}

template <class A, class B>
double Shared(const A& a, const B& b, bool same_cluster) {
  double shared = kGpuShare;
  if (same_cluster) shared += kClusterShare;
  if (a.precision == b.precision && a.target == b.target) shared += kStackShare;
  if (a.model_class == b.model_class) {
    shared += kModelShare;
    if (a.layout == b.layout && a.gpu_count == b.gpu_count) shared += kLayoutShare;
  }
  return shared;
}

double NoiseOf(const Measurement& m) {
  const double usual = m.metric == Metric::kStepTime ? kStepNoise : kMemoryNoise;
  const double said = m.error.has_value() && m.value > 0 ? *m.error / m.value / kBandSigmas : usual;
  return std::max(said, usual) * std::max(said, usual);
}

std::vector<Run> DistinctRuns(const CalibrationQuestion& question, absl::Span<const Measurement* const> measurements) {
  // The forecast stands for every knob of a run: equal configurations have equal forecasts.
  std::map<std::tuple<std::string, std::string, int64_t, double>, std::vector<const Measurement*>> groups;
  for (const Measurement* m : measurements) {
    if (m->metric != question.metric || !m->has_forecast || m->forecast <= 0 || m->value <= 0) continue;
    groups[{m->model, m->cluster, m->gpu_count, m->forecast}].push_back(m);
  }
  std::vector<Run> runs;
  for (const auto& [key, repeats] : groups) {
    Run& run = runs.emplace_back();
    run.first = repeats.back();
    run.sigma = Sigma(run.first->forecast_low, run.first->forecast_high);
    for (const Measurement* m : repeats) {
      run.log_ratio += std::log(m->value / m->forecast) / static_cast<double>(repeats.size());
      run.noise = std::max(run.noise, NoiseOf(*m));  // repeats share what is wrong with them
    }
  }
  return runs;
}

// Lower triangle of the factor of a symmetric positive definite matrix, in place.
using Matrix = std::array<std::array<double, kMaxCalibrationRuns>, kMaxCalibrationRuns>;
void Factor(size_t n, Matrix* m) {
  Matrix& a = *m;
  for (size_t j = 0; j < n; ++j) {
    for (size_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    a[j][j] = std::sqrt(std::max(a[j][j], 1e-12));
    for (size_t i = j + 1; i < n; ++i) {
      for (size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
}

using Column = std::array<double, kMaxCalibrationRuns>;
Column SolveLower(size_t n, const Matrix& a, const Column& b) {
  Column x{};
  for (size_t i = 0; i < n; ++i) {
    x[i] = b[i];
    for (size_t k = 0; k < i; ++k) x[i] -= a[i][k] * x[k];
    x[i] /= a[i][i];
  }
  return x;
}

}  // namespace

Calibration Calibrate(const CalibrationQuestion& question, absl::Span<const Measurement* const> measurements) {
  Calibration out;
  if (measurements.empty() || question.forecast <= 0) return out;
  std::vector<Run> runs = DistinctRuns(question, measurements);
  if (runs.empty()) return out;
  // A question does not say on which cluster it will run: on the one that all reports are from, if there is just one.
  const bool one_cluster = std::all_of(runs.begin(), runs.end(),
                                       [&](const Run& run) { return run.first->cluster == runs[0].first->cluster; });
  for (Run& run : runs) run.shared = Shared(question, *run.first, one_cluster);
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    return std::make_pair(-a.shared, -a.first->revision) < std::make_pair(-b.shared, -b.first->revision);
  });
  if (runs.size() > kMaxCalibrationRuns) runs.resize(kMaxCalibrationRuns);

  const size_t n = runs.size();
  const double sigma = std::max(Sigma(question.low, question.high), kLeastSigma);
  Matrix covariance{};
  Column with_question{}, seen{};
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      const bool same_cluster = runs[i].first->cluster == runs[j].first->cluster;
      const double shared = i == j ? 1 : Shared(*runs[i].first, *runs[j].first, same_cluster);
      covariance[i][j] = shared * runs[i].sigma * runs[j].sigma + (i == j ? runs[i].noise : 0);
    }
    with_question[i] = runs[i].shared * runs[i].sigma * sigma;
    seen[i] = runs[i].log_ratio;
  }
  Factor(n, &covariance);
  const Column a = SolveLower(n, covariance, with_question), b = SolveLower(n, covariance, seen);
  double mean = 0, variance = sigma * sigma;
  for (size_t i = 0; i < n; ++i) {
    mean += a[i] * b[i];
    variance -= a[i] * a[i];
  }
  const double half = kBandSigmas * std::sqrt(std::max(variance, kLeastSigma * kLeastSigma));
  out.factor = std::exp(mean);
  out.low = std::exp(mean - half);
  out.high = std::exp(mean + half);
  out.runs = static_cast<int>(n);
  for (size_t i = 0; i < std::min<size_t>(n, 5); ++i) out.from.push_back(runs[i].first);
  return out;
}

}  // namespace flightplan
