#include "tests/evidence/fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace flightplan {
namespace {

// What a published step time and a published effect are worth: runs of one layout differ by 3 % (median).
constexpr double kRowScale = 0.05, kPairScale = 0.04, kPairWeight = 0.3;

std::string PrecisionKey(const TruthRow& row) { return absl::StrCat(row.run.model_name, row.gpu, row.precision); }

double EffectError(const AbRow& row, const StepCoefficients& k) {
  return std::log(1 + std::max(-0.9, ForecastEffect(row, k).change)) - std::log(1 + row.relative_change);
}

// Deviations in units of their scale: rows, pairs, then the coefficients' own pull.
void Residuals(const std::vector<CoefficientRow>& coefficients, const FitData& data, const StepCoefficients& k,
               std::vector<double>* out) {
  out->clear();
  for (const TruthRow* row : data.rows) out->push_back(DeviationOf(*row, k).error / kRowScale);
  for (const AbRow* row : data.pairs) out->push_back(EffectError(*row, k) / kPairScale);
  for (const CoefficientRow& row : coefficients) {
    if (row.spread > 0) out->push_back(std::log(k.*row.field / row.prior) / row.spread);
  }
}

// Squared for small deviations, linear for large ones: a row whose software was broken must not bend the rest.
double Cost(const std::vector<double>& residuals, const std::vector<double>& weights) {
  double cost = 0;
  for (size_t i = 0; i < residuals.size(); ++i) {
    const double z = residuals[i];
    cost += i < weights.size() ? weights[i] * 4 * (std::sqrt(1 + z * z / 2) - 1) : 0.5 * z * z;
  }
  return cost;
}

// Solves a * x = b for a symmetric positive definite matrix, in place.
void Solve(std::vector<std::vector<double>>* a, std::vector<double>* b) {
  const size_t n = b->size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      const double factor = (*a)[j][i] / (*a)[i][i];
      for (size_t c = i; c < n; ++c) (*a)[j][c] -= factor * (*a)[i][c];
      (*b)[j] -= factor * (*b)[i];
    }
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t c = i + 1; c < n; ++c) (*b)[i] -= (*a)[i][c] * (*b)[c];
    (*b)[i] /= (*a)[i][i];
  }
}

double WeightOf(const TruthRow& row) {
  if (row.extra) return 0.15;
  return (row.complete ? 1.0 : 0.4) * (row.per_flop || row.rounded ? 0.5 : 1.0);
}

// The coefficients of AWS's network are those of its Hopper machines: a later one is judged by them, never fitted to.
bool OnLaterEfa(const Run& run) { return run.efa && run.gpu->cc_major != 9; }

}  // namespace

const HoldOut kByFamily = {"family", [](const TruthRow& row) { return row.family; },
                           [](const AbRow& row) { return row.family; }};
const HoldOut kByModel = {"model", [](const TruthRow& row) { return row.run.model_name; },
                          [](const AbRow& row) { return row.from.model_name; }};
const HoldOut kByGpu = {"GPU", [](const TruthRow& row) { return row.gpu; },
                        [](const AbRow& row) { return row.from.gpu_name; }};

FitData ChooseData(const std::vector<TruthRow>& rows, const std::vector<AbRow>& pairs, const HoldOut& by,
                   const std::vector<std::string>& without) {
  const auto out = [&](const std::string& group) {
    return std::find(without.begin(), without.end(), group) != without.end();
  };
  FitData data;
  // A model, a GPU and a precision that many rows share must not outweigh the others.
  std::map<std::string, int> sharing;
  for (const TruthRow& row : rows) {
    if (!out(by.of_row(row))) ++sharing[PrecisionKey(row)];
  }
  for (const TruthRow& row : rows) {
    if (out(by.of_row(row)) || OnLaterEfa(row.run)) continue;
    data.rows.push_back(&row);
    data.weights.push_back(WeightOf(row) / std::sqrt(sharing[PrecisionKey(row)]));
  }
  for (const AbRow& row : pairs) {
    const bool fits = row.expressible && row.quality == "matched" && !OnLaterEfa(row.from);
    if (fits && !out(by.of_pair(row))) data.pairs.push_back(&row);
  }
  return data;
}

StepCoefficients FitCoefficients(const std::vector<CoefficientRow>& rows, const FitData& data) {
  StepCoefficients k;
  std::vector<const CoefficientRow*> free;
  for (const CoefficientRow& row : rows) {
    k.*row.field = row.prior;
    if (row.spread > 0) free.push_back(&row);
  }
  std::vector<double> weights = data.weights;
  weights.resize(data.rows.size() + data.pairs.size(), kPairWeight);
  const size_t n = free.size();
  std::vector<double> here, there;
  std::vector<std::vector<double>> slopes(n);
  Residuals(rows, data, k, &here);
  double best = Cost(here, weights), damping = 0.1;
  for (int round = 0; round < 25 && damping < 1e4; ++round) {
    constexpr double kStep = 0.01;
    for (size_t i = 0; i < n; ++i) {
      StepCoefficients moved = k;
      moved.*free[i]->field *= std::exp(kStep);
      Residuals(rows, data, moved, &there);
      slopes[i].resize(here.size());
      for (size_t r = 0; r < here.size(); ++r) slopes[i][r] = (there[r] - here[r]) / kStep;
    }
    std::vector<double> gradient(n);
    std::vector<std::vector<double>> curvature(n, std::vector<double>(n));
    for (size_t r = 0; r < here.size(); ++r) {
      const double z = here[r], weight = r < weights.size() ? 2 * weights[r] / std::sqrt(1 + z * z / 2) : 1;
      for (size_t i = 0; i < n; ++i) {
        if (slopes[i][r] == 0) continue;
        gradient[i] -= weight * slopes[i][r] * z;
        for (size_t j = 0; j < n; ++j) curvature[i][j] += weight * slopes[i][r] * slopes[j][r];
      }
    }
    bool moved = false;
    double gained = 0;
    for (int attempt = 0; attempt < 6 && !moved; ++attempt) {
      std::vector<std::vector<double>> a = curvature;
      std::vector<double> step = gradient;
      for (size_t i = 0; i < n; ++i) a[i][i] += damping * (a[i][i] + 1);
      Solve(&a, &step);
      StepCoefficients trial = k;
      for (size_t i = 0; i < n; ++i) trial.*free[i]->field *= std::exp(std::clamp(step[i], -0.3, 0.3));
      Residuals(rows, data, trial, &there);
      const double cost = Cost(there, weights);
      moved = cost < best;
      damping *= moved ? 0.3 : 4;
      if (moved) gained = best - cost, best = cost, k = trial, here = there;
    }
    if (!moved || gained < 1e-3) break;
  }
  return k;
}

Deviation DeviationOf(const TruthRow& row, const StepCoefficients& k) {
  StepForecast forecast;
  if (!ForecastRow(row, k, &forecast) || !(forecast.us > 0)) return {};
  const double low = std::max(forecast.low_us, 1e-3 * forecast.us);
  return {std::log(forecast.us / row.step_us), 0.5 * std::log(forecast.high_us / low)};
}

double ConformalScale(const std::vector<Deviation>& deviations, const std::vector<double>& weights, double coverage) {
  std::vector<std::pair<double, double>> ratios;  // with the weight
  double sum = 0, most = 0;
  for (size_t i = 0; i < deviations.size(); ++i) {
    if (deviations[i].half_width <= 0) continue;
    ratios.emplace_back(std::abs(deviations[i].error) / deviations[i].half_width, weights[i]);
    sum += weights[i];
    most = std::max(most, weights[i]);
  }
  if (ratios.empty()) return 1;
  std::sort(ratios.begin(), ratios.end());
  double below = 0;
  for (const auto& [ratio, weight] : ratios) {
    below += weight;
    if (below >= coverage * (sum + most)) return ratio;
  }
  return ratios.back().first;
}

namespace {

// The groups that are scored, with their number of rows.
std::map<std::string, int> GroupSizes(const std::vector<TruthRow>& rows, const HoldOut& by) {
  std::map<std::string, int> sizes;
  for (const TruthRow& row : rows) {
    if (!row.extra) ++sizes[by.of_row(row)];
  }
  return sizes;
}

// Deviations with their weights: a group of many rows counts as their root.
struct Sample {
  std::vector<Deviation> deviations;
  std::vector<double> weights;

  void Add(const std::vector<TruthRow>& rows, const HoldOut& by, const std::string& group, int size,
           const StepCoefficients& k) {
    for (const TruthRow& row : rows) {
      if (!row.extra && by.of_row(row) == group) deviations.push_back(DeviationOf(row, k));
    }
    weights.resize(deviations.size(), 1 / std::sqrt(static_cast<double>(size)));
  }
};

}  // namespace

double HeldOutScale(const std::vector<CoefficientRow>& coefficients, const std::vector<TruthRow>& rows,
                    const std::vector<AbRow>& pairs, const HoldOut& by, double coverage) {
  Sample sample;
  for (const auto& [group, size] : GroupSizes(rows, by)) {
    sample.Add(rows, by, group, size, FitCoefficients(coefficients, ChooseData(rows, pairs, by, {group})));
  }
  return ConformalScale(sample.deviations, sample.weights, coverage);
}

std::vector<HeldOutRow> HoldOutRows(const std::vector<CoefficientRow>& coefficients, const std::vector<TruthRow>& rows,
                                    const std::vector<AbRow>& pairs, const HoldOut& by, double coverage) {
  const std::map<std::string, int> groups = GroupSizes(rows, by);
  // One fit serves both groups of a pair that it has not seen.
  std::map<std::pair<std::string, std::string>, StepCoefficients> without_pair;
  for (const auto& [a, a_size] : groups) {
    for (const auto& [b, b_size] : groups) {
      if (a < b) without_pair[{a, b}] = FitCoefficients(coefficients, ChooseData(rows, pairs, by, {a, b}));
    }
  }
  std::vector<HeldOutRow> out;
  for (const auto& [group, size] : groups) {
    const StepCoefficients k = FitCoefficients(coefficients, ChooseData(rows, pairs, by, {group}));
    Sample others;
    for (const auto& [other, other_size] : groups) {
      if (other != group) others.Add(rows, by, other, other_size, without_pair[std::minmax(group, other)]);
    }
    const double scale = ConformalScale(others.deviations, others.weights, coverage);
    for (const TruthRow& row : rows) {
      if (row.extra || by.of_row(row) != group) continue;
      const Deviation deviation = DeviationOf(row, k);
      out.push_back({&row, group, std::exp(deviation.error) - 1, scale * deviation.half_width});
    }
  }
  return out;
}

}  // namespace flightplan
