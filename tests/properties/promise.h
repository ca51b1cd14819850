// What a finding promises of its first fix, and whether the answer to the fixed question keeps it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "flightplan/v1/estimate.pb.h"
#include "flightplan/v1/finding.pb.h"

namespace flightplan::properties {

// "...; with the fix: step +8 %, 69 -> 59 GiB"
struct Promise {
  std::optional<double> step_percent;
  double gib = 0;  // of the fullest GPU
};

struct Forecast {
  double step_us = 0;  // 0: not known
  double gib = 0;
};
inline Forecast ForecastOf(const v1::Estimate& estimate) {
  Forecast forecast;
  forecast.step_us = estimate.step_time_us().value();
  for (const v1::StageMemory& stage : estimate.stages()) {
    forecast.gib = std::max(forecast.gib, stage.total_bytes().value() / (1 << 30));
  }
  return forecast;
}

// Empty: nothing is promised.
inline std::optional<Promise> PromiseOf(const v1::Finding& finding) {
  static constexpr absl::string_view kPromise = "with the fix: ";
  const std::string& needs = finding.needs();
  const size_t at = needs.find(std::string(kPromise));
  if (at == std::string::npos) return std::nullopt;
  const char* text = needs.c_str() + at + kPromise.size();
  Promise promise;
  double percent = 0, from = 0;
  int read = 0;
  if (std::sscanf(text, "step %lf %%, %n", &percent, &read) == 1 && read > 0) {
    promise.step_percent = percent;
    text += read;
  }
  if (std::sscanf(text, "%lf -> %lf GiB", &from, &promise.gib) != 2) return std::nullopt;
  return promise;
}

// Empty: it is kept. Both figures are read off rounded texts.
inline std::string BrokenPromise(const Promise& promise, const Forecast& before, const Forecast& after) {
  if (std::abs(after.gib - promise.gib) > 1) return "memory changes otherwise than promised";
  const bool known = before.step_us > 0 && after.step_us > 0;
  if (known != promise.step_percent.has_value()) return "a step is promised that is not forecast, or not";
  if (!known) return "";
  const double percent = 100 * (after.step_us / before.step_us - 1);
  return std::abs(percent - *promise.step_percent) > 1 ? "the step changes otherwise than promised" : "";
}

}  // namespace flightplan::properties
