#include "resolver/evidence/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace flightplan {
namespace {

// How much of the forecast's error two runs share. What they have in common adds up; tests/evidence/calibration_check
// judges the shares by leaving out one published run after the other.
constexpr double kGpuShare = 0.35, kClusterShare = 0.10, kStackShare = 0.15, kModelShare = 0.20, kLayoutShare = 0.20;
// A run, and what it shares with the question.
struct Near {
  const RunTable::Run* run = nullptr;
  double shared = 0;
};

// Nearest first; of equally near ones the newest.
bool IsNearer(const Near& a, const Near& b) {
  if (a.shared != b.shared) return a.shared > b.shared;
  return a.run->newest->revision > b.run->newest->revision;
}

// Two forecasts of one run: knobs, sequence and batch that are not written down make another one.
constexpr double kSameForecast = 0.01;  // of their logarithms
bool SameForecast(double a, double b) { return a > 0 && b > 0 && std::abs(std::log(a / b)) < kSameForecast; }

template <class A, class B>
double Shared(const A& a, const B& b, bool same_class, bool same_cluster) {
  double shared = kGpuShare;
  if (same_cluster) shared += kClusterShare;
  if (a.precision == b.precision && a.target == b.target) shared += kStackShare;
  if (same_class) {
    shared += kModelShare;
    const bool same_layout = a.layout == b.layout && a.gpu_count == b.gpu_count;
    if (same_layout && SameForecast(a.forecast, b.forecast)) shared += kLayoutShare;
  }
  return shared;
}

// At most kMaxCalibrationRuns.
std::vector<Near> NearestRuns(const CalibrationQuestion& question, const RunTable& reported) {
  // A question does not say on which cluster it will run: on the one that all reports are from, if there is just one.
  const int32_t model_class = reported.ClassOf(question.model_class);
  std::vector<Near> nearest;  // a heap, its root the farthest
  for (const RunTable::Run& run : reported.runs()) {
    const Near near{&run, Shared(question, *run.newest->run, run.model_class == model_class, reported.one_cluster())};
    if (nearest.size() == kMaxCalibrationRuns) {
      if (!IsNearer(near, nearest.front())) continue;
      std::pop_heap(nearest.begin(), nearest.end(), IsNearer);
      nearest.pop_back();
    }
    nearest.push_back(near);
    std::push_heap(nearest.begin(), nearest.end(), IsNearer);
  }
  std::sort_heap(nearest.begin(), nearest.end(), IsNearer);
  return nearest;
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

Calibration Calibrate(const CalibrationQuestion& question, const RunTable& reported) {
  Calibration out;
  if (reported.runs().empty() || question.forecast <= 0) return out;
  const std::vector<Near> runs = NearestRuns(question, reported);

  const size_t n = runs.size();
  const double sigma = std::max(SigmaOfBand(question.low, question.high), kLeastSigma);
  Matrix covariance{};
  Column with_question{}, seen{};
  for (size_t i = 0; i < n; ++i) {
    const RunTable::Run& a = *runs[i].run;
    for (size_t j = 0; j <= i; ++j) {
      const RunTable::Run& b = *runs[j].run;
      const double shared = i == j ? 1
                                   : Shared(*a.newest->run, *b.newest->run, a.model_class == b.model_class,
                                            a.newest->cluster == b.newest->cluster);
      covariance[i][j] = shared * a.sigma * b.sigma + (i == j ? a.noise : 0);
    }
    with_question[i] = runs[i].shared * a.sigma * sigma;
    seen[i] = a.log_ratio;
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
  for (size_t i = 0; i < std::min<size_t>(n, 5); ++i) out.from.push_back(runs[i].run->newest);
  return out;
}

}  // namespace flightplan
