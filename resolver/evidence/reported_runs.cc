#include "resolver/evidence/reported_runs.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace flightplan {
namespace {

// Repeated runs of one configuration differ by a per cent, peaks of memory by less.
constexpr double kStepNoise = 0.01, kMemoryNoise = 0.005;

double NoiseOf(Metric metric, const Measurement& m) {
  const double usual = metric == Metric::kStepTime ? kStepNoise : kMemoryNoise;
  const double said = m.error.has_value() && m.value > 0 ? *m.error / m.value / kBandSigmas : usual;
  return std::max(said, usual) * std::max(said, usual);
}

// The forecast stands for every knob of a run: equal configurations have equal forecasts.
using RunKey = std::tuple<absl::string_view, absl::string_view, int64_t, double>;
RunKey KeyOf(const Measurement& m) { return {m.run->model, m.cluster, m.run->gpu_count, m.run->forecast}; }

}  // namespace

double SigmaOfBand(double low, double high) {
  return low > 0 && high > low ? std::log(high / low) / (2 * kBandSigmas) : kLeastSigma;
}

int32_t RunTable::Find(const Names& names, absl::string_view name) {
  const auto found = names.find(name);
  return found == names.end() ? -1 : found->second;
}

int32_t RunTable::Number(absl::string_view name, Names* names) {
  return names->emplace(name, static_cast<int32_t>(names->size())).first->second;
}

RunTable::RunTable(Metric metric, absl::Span<const Measurement* const> reports) {
  absl::flat_hash_map<RunKey, size_t> by_key;
  for (const Measurement* m : reports) {
    const MeasuredRun& measured = *m->run;
    if (measured.metric != metric || !measured.has_forecast || measured.forecast <= 0 || m->value <= 0) continue;
    const double log_ratio = std::log(m->value / measured.forecast);
    ratios_.push_back({log_ratio, Number(m->tenant, &tenants_), m->trust == Trust::kOperator});
    const auto [known, is_new] = by_key.emplace(KeyOf(*m), runs_.size());
    if (is_new) runs_.emplace_back().model_class = Number(measured.model_class, &classes_);
    Run& run = runs_[known->second];
    run.newest = m;
    run.log_ratio += log_ratio;
    run.noise = std::max(run.noise, NoiseOf(metric, *m));  // repeats share what is wrong with them
    ++run.repeats;
  }
  for (Run& run : runs_) {
    run.log_ratio /= static_cast<double>(run.repeats);
    run.sigma = SigmaOfBand(run.newest->run->forecast_low, run.newest->run->forecast_high);
    one_cluster_ = one_cluster_ && run.newest->cluster == runs_[0].newest->cluster;
  }
}

ReportedRuns::ReportedRuns(absl::Span<const Measurement* const> reports)
    : step_times_(Metric::kStepTime, reports), memory_peaks_(Metric::kMemoryPeak, reports) {
  for (const Measurement* m : reports) {
    if (m->run->metric == Metric::kAbChange) pairs_[m->run->model_class].push_back(m);
  }
}

absl::Span<const Measurement* const> ReportedRuns::PairsOf(absl::string_view model_class) const {
  const auto found = pairs_.find(model_class);
  if (found == pairs_.end()) return {};
  return found->second;
}

}  // namespace flightplan
