// Fits the coefficients of step_rates.yaml to published step times and A/B effects: each is pulled to its prior and to
// the data. Held-out errors come from fits that have not seen a model family (or model, or GPU).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/evidence/forecast.h"
#include "tests/evidence/truth.h"

namespace flightplan {

struct FitData {
  std::vector<const TruthRow*> rows;
  std::vector<double> weights;  // of rows
  std::vector<const AbRow*> pairs;
};

// How rows are held out together: what a row or a pair belongs to.
struct HoldOut {
  const char* name;
  std::string (*of_row)(const TruthRow&);
  std::string (*of_pair)(const AbRow&);
};
extern const HoldOut kByFamily, kByModel, kByGpu;

// What is fitted: all rows and matched pairs but those of the groups in `without`.
FitData ChooseData(const std::vector<TruthRow>& rows, const std::vector<AbRow>& pairs, const HoldOut& by,
                   const std::vector<std::string>& without);

// The coefficients at which the sum of squares is least; large deviations count linearly. `rows` are the coefficients
// with their priors.
StepCoefficients FitCoefficients(const std::vector<CoefficientRow>& rows, const FitData& data);

// ln(forecast / published) and the forecast's half width in logarithms.
struct Deviation {
  double error = 0, half_width = 0;
};
Deviation DeviationOf(const TruthRow& row, const StepCoefficients& coefficients);

// The factor on all half widths at which the share `coverage` of the deviations lies inside (split conformal: one more
// than the sample's own quantile).
double ConformalScale(const std::vector<Deviation>& deviations, const std::vector<double>& weights, double coverage);

// ConformalScale over the deviations of all groups, each held out of the fit.
double HeldOutScale(const std::vector<CoefficientRow>& coefficients, const std::vector<TruthRow>& rows,
                    const std::vector<AbRow>& pairs, const HoldOut& by, double coverage);

struct HeldOutRow {
  const TruthRow* row;
  std::string group;
  double error;       // relative, positive: forecast too slow
  double half_width;  // in logarithms, calibrated on the other groups
};
// Every scored row, forecast by a fit and with an interval that have not seen its group: intervals are scaled by the
// deviations of the other groups, each held out of a fit without both.
std::vector<HeldOutRow> HoldOutRows(const std::vector<CoefficientRow>& coefficients, const std::vector<TruthRow>& rows,
                                    const std::vector<AbRow>& pairs, const HoldOut& by, double coverage);

}  // namespace flightplan
