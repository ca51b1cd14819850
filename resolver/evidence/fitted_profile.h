// A profile with the curves that its rows give: what the forecast and the decisions take from a probe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "probe/fit/alpha_beta.h"
#include "probe/fit/contention.h"
#include "probe/fit/pair.h"
#include "probe/fit/saturating.h"
#include "resolver/plan/hardware_profile.h"

namespace flightplan {

// One row of the profile as a figure: in its unit, with the relative half-width of its interval.
struct FittedFigure {
  absl::string_view id;
  double value = 0, error = 0;
};

// What running beside an exchange of one class costs a compute kernel of one class.
struct FittedCorun {
  std::string communication;  // "push", "paced", "copy_engine", "nccl"
  std::string compute;        // "gemm", "wgrad", "elementwise", "attention"
  fit::CorunCurve curve;
};

// A whole layer pair as it was measured, and as the fitted model forecasts it from its parts alone.
struct FittedPair {
  absl::string_view id;  // "pair.overlap"
  fit::PairSchedule schedule;
  double measured_us = 0, forecast_us = 0;
};

// Immutable after Fit; may be read from many threads.
struct FittedProfile {
  HardwareProfile profile;

  std::vector<FittedFigure> figures;                    // the best row of each plain rate
  std::optional<fit::SaturatingCurve> copy_by_sms;      // bytes per second (read and written) against SMs
  std::optional<fit::SaturatingCurve> exchange_by_sms;  // bytes per second of one rank against SMs, real peers only
  std::optional<fit::AlphaBeta> exchange;               // microseconds against bytes of one rank, real peers only
  std::optional<fit::SaturatingCurve> fc1_by_rows;      // FLOP/s against rows of one expert
  std::optional<fit::SaturatingCurve> fc2_by_rows;
  std::optional<fit::SaturatingCurve> wgrad_by_rows;
  std::vector<FittedCorun> corun;
  std::optional<fit::PairParts> pair_parts;  // of the layer that pair.part describes
  std::vector<FittedPair> pairs;

  const FittedFigure* Figure(absl::string_view id) const;
  // The first of these classes that was measured; empty text: any. Null: none.
  const FittedCorun* Corun(absl::string_view communication, absl::string_view compute) const;
};

// Never fails: what the rows do not give stays empty. A synthetic profile is fitted like any other; whoever decides
// looks at profile.synthetic.
std::shared_ptr<const FittedProfile> FitProfile(HardwareProfile profile);

}  // namespace flightplan
