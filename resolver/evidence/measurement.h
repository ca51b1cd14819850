// One reported run, or one pair of runs, as the forecasts and decisions see it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "resolver/plan/environment.h"
#include "resolver/plan/intent.h"
#include "resolver/plan/knob.h"

namespace flightplan {

enum class Metric {
  kStepTime,    // microseconds
  kMemoryPeak,  // bytes, the highest of any rank
  kAbChange,    // relative change of the step time, `to` against `from`; negative is faster
};

// Only matched runs count: everything but what is measured was the same, or is stated.
enum class Quality { kMatched, kDirectional, kConfounded, kSynthetic };

// Operators run the service; a tenant's report counts while it is plausible; quarantined ones are kept and never used.
enum class Trust { kOperator, kTenant, kQuarantined };

struct RunLayout {
  int64_t tp = 1, pp = 1, vpp = 1, cp = 1, ep = 1, etp = 1, micro_batch_size = 1;
  friend bool operator==(const RunLayout&, const RunLayout&) = default;
};

// What was run and measured, without what is particular to one report. Reports of one configuration share it.
struct MeasuredRun {
  Metric metric = Metric::kStepTime;
  std::string model;        // catalogue name
  std::string model_class;  // ModelClass of it
  std::string gpu;          // catalogue name
  int64_t gpu_count = 0;
  RunLayout layout;
  int64_t seq_length = 0, global_batch_size = 0;
  Precision precision = Precision::kBf16;
  Target target{};

  // Of a pair of runs: what was varied.
  Knob knob{};
  Value from, to;

  // What the forecast says about the same run, before any calibration, in the metric's unit; !has_forecast: nothing.
  bool has_forecast = false;
  double forecast = 0, forecast_low = 0, forecast_high = 0;
};

// One report.
struct Measurement {
  std::string id;
  int64_t revision = 0;         // of the store that added it
  double value = 0;             // in the metric's unit
  std::optional<double> error;  // half-width of its 95 % interval, same unit
  Quality quality = Quality::kDirectional;
  Trust trust = Trust::kTenant;
  std::string tenant, cluster;             // empty: not said
  std::shared_ptr<const MeasuredRun> run;  // never null where a measurement was read

  bool counts() const { return quality == Quality::kMatched && trust != Trust::kQuarantined; }
};

// What makes the effect of a knob carry over from one model to another: "moe e128 k8 h2048 gqa".
std::string ModelClass(const ModelSpec& model);

}  // namespace flightplan
