// Levenberg-Marquardt for curves of a few positive parameters, on relative residuals, with large residuals held down
// so that one disturbed sample does not bend the curve.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "probe/fit/samples.h"

namespace flightplan::fit {

template <size_t N>
struct FitResult {
  std::array<double, N> parameters{};
  double error = kUntestedError;  // relative half-width (95 %) of a prediction inside the measured range
  double worst = 0;               // largest relative residual
};

namespace internal {

// Beyond this many sigmas a residual counts linearly (Huber).
inline constexpr double kOutlier = 2.5;

// Solves the normal equations in place; false: singular.
template <size_t N>
bool Solve(std::array<std::array<double, N>, N> a, std::array<double, N> b, std::array<double, N>* x) {
  for (size_t column = 0; column < N; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < N; ++row) {
      if (std::fabs(a[row][column]) > std::fabs(a[pivot][column])) pivot = row;
    }
    if (!(std::fabs(a[pivot][column]) > 1e-300)) return false;
    std::swap(a[pivot], a[column]);
    std::swap(b[pivot], b[column]);
    for (size_t row = column + 1; row < N; ++row) {
      const double factor = a[row][column] / a[column][column];
      for (size_t k = column; k < N; ++k) a[row][k] -= factor * a[column][k];
      b[row] -= factor * b[column];
    }
  }
  for (size_t row = N; row-- > 0;) {
    double sum = b[row];
    for (size_t k = row + 1; k < N; ++k) sum -= a[row][k] * (*x)[k];
    (*x)[row] = sum / a[row][row];
  }
  return true;
}

}  // namespace internal

// The spread that the residuals show, never below what the samples say of themselves.
inline double ErrorOfResiduals(const std::vector<double>& residuals, const std::vector<Sample>& samples,
                               size_t parameters) {
  double own = 0;
  for (const Sample& sample : samples) own += 1.96 * SigmaOf(sample);
  own = samples.empty() ? kUntestedError : own / static_cast<double>(samples.size());
  if (residuals.size() <= parameters) return std::fmax(own, kUntestedError);
  double sum = 0;
  for (double residual : residuals) sum += residual * residual;
  return std::fmax(own, 1.96 * std::sqrt(sum / static_cast<double>(residuals.size() - parameters)));
}

// `model(parameters, x)` is positive for positive parameters; `low` and `high` bound each of them.
template <size_t N, class Model>
FitResult<N> LeastSquares(const Model& model, const std::vector<Sample>& samples, std::array<double, N> start,
                          const std::array<double, N>& low, const std::array<double, N>& high) {
  constexpr int kRounds = 200;
  constexpr double kStep = 1e-6;
  const auto bounded = [&](std::array<double, N> p) {
    for (size_t i = 0; i < N; ++i) p[i] = std::fmin(std::fmax(p[i], low[i]), high[i]);
    return p;
  };
  const auto residual = [&](const std::array<double, N>& p, const Sample& sample) {
    return std::log(model(p, sample.x) / sample.y) / SigmaOf(sample);
  };
  const auto cost = [&](const std::array<double, N>& p) {
    double sum = 0;
    for (const Sample& sample : samples) {
      const double r = std::fabs(residual(p, sample));
      sum += r <= internal::kOutlier ? r * r : internal::kOutlier * (2 * r - internal::kOutlier);
    }
    return sum;
  };
  std::array<double, N> p = bounded(start);
  double best = cost(p), damping = 1e-3;
  for (int round = 0; round < kRounds && damping < 1e12; ++round) {
    std::array<std::array<double, N>, N> normal{};
    std::array<double, N> gradient{};
    for (const Sample& sample : samples) {
      const double r = residual(p, sample);
      const double weight = std::fabs(r) <= internal::kOutlier ? 1 : internal::kOutlier / std::fabs(r);
      std::array<double, N> slope{};
      for (size_t i = 0; i < N; ++i) {  // against the logarithm: parameters differ by many orders of magnitude
        std::array<double, N> moved = p;
        moved[i] *= 1 + kStep;
        slope[i] = (residual(moved, sample) - r) / kStep;
      }
      for (size_t i = 0; i < N; ++i) {
        gradient[i] -= weight * slope[i] * r;
        for (size_t k = 0; k < N; ++k) normal[i][k] += weight * slope[i] * slope[k];
      }
    }
    for (size_t i = 0; i < N; ++i) normal[i][i] += damping * (normal[i][i] + 1e-9);
    std::array<double, N> change{};
    if (!internal::Solve(normal, gradient, &change)) break;
    std::array<double, N> next = p;
    for (size_t i = 0; i < N; ++i) next[i] *= std::exp(std::fmin(std::fmax(change[i], -1.0), 1.0));
    next = bounded(next);
    const double then = cost(next);
    if (!(then < best)) {
      damping *= 10;
      continue;
    }
    const bool settled = best - then < 1e-12 * (1 + best);
    p = next;
    best = then;
    damping *= 0.3;
    if (settled) break;
  }
  FitResult<N> result;
  result.parameters = p;
  std::vector<double> residuals;
  for (const Sample& sample : samples) {
    residuals.push_back(std::log(model(p, sample.x) / sample.y));
    result.worst = std::fmax(result.worst, std::fabs(residuals.back()));
  }
  result.error = ErrorOfResiduals(residuals, samples, N);
  return result;
}

}  // namespace flightplan::fit
