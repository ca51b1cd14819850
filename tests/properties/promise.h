// What a finding promises of its fixes, and whether the answer to the fixed question keeps it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "flightplan/v1/estimate.pb.h"
#include "flightplan/v1/finding.pb.h"

namespace flightplan::properties {

// "...; with the fix: step +8 %, 69 -> 59 GiB", of several "...; with the first fix: ...; with the second: ..."
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

// One for each fix in its order, or none: nothing is promised.
inline std::vector<std::optional<Promise>> PromisesOf(const v1::Finding& finding) {
  const std::string& needs = finding.needs();
  std::vector<std::optional<Promise>> promises;
  for (size_t at = needs.find("; with the "); at != std::string::npos; at = needs.find("; with the ", at + 1)) {
    const size_t colon = needs.find(": ", at);
    if (colon == std::string::npos) break;
    const char* text = needs.c_str() + colon + 2;
    Promise promise;
    double percent = 0, from = 0;
    int read = 0;
    if (std::sscanf(text, "step %lf %%, %n", &percent, &read) == 1 && read > 0) {
      promise.step_percent = percent;
      text += read;
    }
    const bool known = std::sscanf(text, "%lf -> %lf GiB", &from, &promise.gib) == 2;
    promises.push_back(known ? std::optional(promise) : std::nullopt);
  }
  return promises;
}

// Empty: each fix has its promise, or none has one.
inline std::string WrongCount(const std::vector<std::optional<Promise>>& promises, const v1::Finding& finding) {
  const bool right = promises.empty() || promises.size() == static_cast<size_t>(finding.fixes_size());
  return right ? "" : "not every fix has its promise";
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

// "step -20 % (-26..-14), 69 -> 62 GiB (50..80), all else as it is"
struct Trial {
  int percent = 0, low = 0, high = 0, gib = 0;
};
// Empty: the finding offers nothing to try.
inline std::optional<Trial> TrialOf(const v1::Finding& finding) {
  const std::string& needs = finding.needs();
  const size_t at = needs.find("; step ");
  if (finding.area() != "next-step" || finding.fixes().empty() || at == std::string::npos) return std::nullopt;
  Trial trial;
  int from = 0, least = 0, most = 0, whole = 0;
  std::sscanf(needs.c_str() + at, "; step %d %% (%d..%d), %d -> %d GiB (%d..%d), all else as it is%n", &trial.percent,
              &trial.low, &trial.high, &from, &trial.gib, &least, &most, &whole);
  return whole > 0 && least <= trial.gib && trial.gib <= most ? std::optional(trial) : std::nullopt;
}

// Empty: the trial shows what was said of it. Sign, size and interval.
inline std::string BrokenTrial(const Trial& trial, const Forecast& before, const Forecast& after) {
  if (trial.percent >= 0 || trial.low > trial.percent || trial.percent > trial.high) return "it is no gain";
  if (before.step_us <= 0 || after.step_us <= 0) return "a step is promised that is not forecast";
  if (std::abs(after.gib - trial.gib) > 1) return "memory changes otherwise than promised, all else as it is";
  const double percent = 100 * (after.step_us / before.step_us - 1);
  return std::abs(percent - trial.percent) > 1 ? "the step changes otherwise than promised, all else as it is" : "";
}

// The same where everything else was decided anew, which may be another plan: it must be a gain all the same.
inline std::string BrokenAnew(const Forecast& before, const Forecast& after) {
  if (before.step_us <= 0 || after.step_us <= 0) return "a step is promised that is not forecast";
  return after.step_us > before.step_us ? "the step gets longer, decided anew" : "";
}

}  // namespace flightplan::properties
