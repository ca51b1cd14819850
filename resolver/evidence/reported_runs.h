// What was reported of one GPU system, in the form in which questions are asked of it: made once a snapshot, so that an
// answer does not pay for every report there is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/evidence/measurement.h"

namespace flightplan {

// Runs of one metric. Reports without a forecast, or with nothing measured, are passed over.
class RunTable {
 public:
  // Repeats of one run, as one.
  struct Run {
    const Measurement* newest = nullptr;
    double log_ratio = 0;  // mean of ln(measured / forecast)
    double sigma = 0;      // of the forecast
    double noise = 0;      // variance of the mean
    int64_t repeats = 0;
    int32_t model_class = 0;  // see ClassOf
  };
  // A report, as others see how the forecasts stand to what is measured.
  struct Ratio {
    double log_ratio = 0;
    int32_t tenant = 0;  // see TenantOf
    bool by_operator = false;
  };

  // `reports` by revision; others than the metric's are passed over. They must outlive the table.
  RunTable(Metric metric, absl::Span<const Measurement* const> reports);

  const std::vector<Run>& runs() const { return runs_; }
  const std::vector<Ratio>& ratios() const { return ratios_; }
  // Every run is from one cluster.
  bool one_cluster() const { return one_cluster_; }
  // Of the table's names; -1: it has no such name.
  int32_t ClassOf(absl::string_view model_class) const { return Find(classes_, model_class); }
  int32_t TenantOf(absl::string_view tenant) const { return Find(tenants_, tenant); }

 private:
  using Names = absl::flat_hash_map<absl::string_view, int32_t>;  // keys live in the reports
  static int32_t Find(const Names& names, absl::string_view name);
  static int32_t Number(absl::string_view name, Names* names);

  std::vector<Run> runs_;
  std::vector<Ratio> ratios_;
  Names classes_, tenants_;
  bool one_cluster_ = true;
};

// Half of a band's 95 % interval is so many standard deviations.
inline constexpr double kBandSigmas = 1.96;
// No band is narrower: the next run differs from the last by its noise.
inline constexpr double kLeastSigma = 0.01;
// Of a forecast's band, as a standard deviation of its logarithm.
double SigmaOfBand(double low, double high);

class ReportedRuns {
 public:
  // `reports` by revision; they must outlive this object.
  explicit ReportedRuns(absl::Span<const Measurement* const> reports);

  // Of Metric::kStepTime or kMemoryPeak.
  const RunTable& Of(Metric metric) const { return metric == Metric::kMemoryPeak ? memory_peaks_ : step_times_; }
  bool has_pairs() const { return !pairs_.empty(); }
  // Pairs of runs (Metric::kAbChange) of a class of models, by revision.
  absl::Span<const Measurement* const> PairsOf(absl::string_view model_class) const;

 private:
  RunTable step_times_, memory_peaks_;
  absl::flat_hash_map<absl::string_view, std::vector<const Measurement*>> pairs_;  // keys live in the reports
};

}  // namespace flightplan
