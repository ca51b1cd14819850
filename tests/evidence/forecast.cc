#include "tests/evidence/forecast.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "resolver/estimate/estimate.h"
#include "resolver/estimate/probe_outlook.h"

namespace flightplan {
namespace {

std::vector<std::shared_ptr<const ProbeEvidence>>& ProfilesInUse() {
  static auto& profiles = *new std::vector<std::shared_ptr<const ProbeEvidence>>();
  return profiles;
}

}  // namespace

void UseProfiles(std::vector<std::shared_ptr<const ProbeEvidence>> profiles) { ProfilesInUse() = std::move(profiles); }

GpuRates RatesFor(const Run& run, const StepCoefficients& coefficients) {
  GpuRates rates = RatesOf(*run.gpu, coefficients);
  for (const std::shared_ptr<const ProbeEvidence>& probe : ProfilesInUse()) {
    if (!IsOfType(probe->fitted->profile, *run.gpu)) continue;
    rates = WithProbe(rates, *probe);
    break;
  }
  if (!run.efa) return rates;
  return OverEfa(run.gpu->cc_major == 9 ? WithSlowHost(rates) : rates);  // AWS p5 has the older host
}

bool ForecastRow(const TruthRow& row, const StepCoefficients& coefficients, StepForecast* out) {
  if (!ForecastStep(row.run.work, row.run.plan, RatesFor(row.run, coefficients), out) || !(out->us > 0)) return false;
  // The forecast is of today's stack; older ones were slower.
  const double older = std::pow(coefficients.release_year, row.age);
  out->us *= older, out->low_us *= older, out->high_us *= older;
  if (row.others.empty()) return true;
  double mean = row.weight * std::log(out->us), low = out->low_us, high = out->high_us;
  for (const Variant& other : row.others) {
    StepForecast forecast;
    if (!ForecastStep(other.run.work, other.run.plan, RatesFor(other.run, coefficients), &forecast)) return false;
    mean += other.weight * std::log(forecast.us * older);
    low = std::min(low, forecast.low_us * older);
    high = std::max(high, forecast.high_us * older);
  }
  out->us = std::exp(mean);
  out->low_us = low;
  out->high_us = high;
  return true;
}

StepEffect ForecastEffect(const AbRow& row, const StepCoefficients& coefficients) {
  StepForecast from, to;
  const GpuRates rates = RatesFor(row.from, coefficients);
  if (!ForecastStep(row.from.work, row.from.plan, rates, &from) || !ForecastStep(row.to.work, row.to.plan, rates, &to))
    return {0, -1, 1};
  StepEffect effect = EffectOf(from, to);
  // TFLOP/s of two sequence lengths compare work, not steps.
  if (row.per_flop && to.model_flops > 0) {
    const double ratio = from.model_flops / to.model_flops;
    effect = {(1 + effect.change) * ratio - 1, (1 + effect.low) * ratio - 1, (1 + effect.high) * ratio - 1};
  }
  return effect;
}

}  // namespace flightplan
