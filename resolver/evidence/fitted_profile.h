// A profile with the curves that its rows give: what the forecast and the decisions take from a probe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "probe/fit/contention.h"
#include "probe/fit/pair.h"
#include "probe/fit/saturating.h"
#include "resolver/evidence/fitted_operators.h"
#include "resolver/plan/hardware_profile.h"

namespace flightplan {

// Relative half-widths that are added where a row is not about the very thing that it is taken for. They are
// allowances, not measurements: no real exchange has been held against its emulation yet, and an own kernel need only
// reach 0.85 of the library's (the goal in probe/verify.sh).
inline constexpr double kEmulatedError = 0.15;
inline constexpr double kStandInError = 0.15;
// Other programs print one figure without a spread.
inline constexpr double kImportedError = 0.05;

// One row of the profile as a figure: in its unit, with the relative half-width of its interval.
struct FittedFigure {
  absl::string_view id;
  double value = 0, error = 0;
};

// What running beside an exchange of one class costs a compute kernel of one class.
struct FittedCorun {
  std::string communication;          // "push", "paced", "copy_engine", "nccl"
  std::string compute;                // "gemm", "wgrad", "elementwise", "attention"
  double link_bytes_per_second = 0;   // that the exchange was held to; 0: as fast as its kernels move
  RowKind kind = RowKind::kMeasured;  // kEmulated: a link that is not there was stood in for
  fit::CorunCurve curve;
  // Relative half-width of both slowdowns as figures for a real exchange.
  double Error() const { return curve.error + (kind == RowKind::kEmulated ? kEmulatedError : 0); }
};

// The link that an exchange runs over.
struct ExchangeLink {
  double bytes_per_second = 0;  // of one rank, one way
  bool inside_domain = true;    // NVLink; else the network
  bool by_library = true;       // NCCL's own kernels; else a dispatcher's, on SMs that it is given
};

// SMs that NCCL's kernels of a point-to-point exchange are taken to hold; it does not tell.
inline constexpr double kNcclSms = 16;

// What a byte of one rank costs in an exchange between real peers by one backend.
struct FittedExchange {
  absl::string_view row;      // "a2a.nccl", "a2a.deepep", "a2a.hybridep"
  bool inside_domain = true;  // over NVLink; else over the network
  double us_per_byte = 0, error = 0;
  RowKind kind = RowKind::kMeasured;
};

// What softmax attention takes per floating point operation: us_per_flop of a long sequence, and as much again at
// half_sequence, whose causal half has little to stream. Of heads as wide as most models', 128.
struct FittedAttention {
  double us_per_flop = 0, half_sequence = 0, error = 0;
  double heads_tokens = 0;  // heads times tokens of the rows: how much work a kernel had at once
};

// A whole layer pair as it was timed, and as the fitted model forecasts it from its parts alone.
struct FittedPair {
  absl::string_view id;  // "pair.overlap"
  fit::PairSchedule schedule;
  double measured_us = 0, forecast_us = 0;
  RowKind kind = RowKind::kMeasured;  // kEmulated: its exchanges ran over a link that was stood in for
};

// Immutable after Fit; may be read from many threads.
struct FittedProfile {
  HardwareProfile profile;

  std::vector<FittedFigure> figures;                // the best row of each plain rate
  std::optional<fit::SaturatingCurve> copy_by_sms;  // bytes per second (read and written) against SMs
  // Bytes per second of one rank against SMs, between real peers over NVLink alone: by the probe's own kernels.
  std::optional<fit::SaturatingCurve> exchange_by_sms;
  std::vector<FittedExchange> exchanges;
  std::optional<fit::SaturatingCurve> fc1_by_rows;  // FLOP/s against rows of one expert
  std::optional<fit::SaturatingCurve> fc2_by_rows;
  std::optional<fit::SaturatingCurve> wgrad_by_rows;
  bool own_products = false;  // no library was at hand: fc1_by_rows is of the probe's own kernel
  std::optional<FittedAttention> attention_forward, attention_backward;
  std::vector<FittedOperator> operators;
  std::vector<FittedCorun> corun;
  std::optional<fit::PairParts> pair_parts;  // of the layer that pair.part describes
  std::vector<FittedPair> pairs;

  const FittedFigure* Figure(absl::string_view id) const;
  // Null: nobody measured it.
  const FittedExchange* Exchange(absl::string_view row, bool inside_domain) const;
  // The cell of these classes (empty text: any) whose pace is nearest to this link's; 0: the first one. Null: none.
  const FittedCorun* Corun(absl::string_view communication, absl::string_view compute,
                           double link_bytes_per_second = 0) const;
  // The cell that stands for an exchange over this link: one between real peers where the link is NVLink (of both, the
  // one whose kernels are those of the exchange), else an emulated one that was held to a rate within a factor of two
  // of the link's. Null: the profile has none; an exchange that nothing held back is a local copy and stands for no
  // link.
  const FittedCorun* CorunOver(const ExchangeLink& link, absl::string_view compute) const;
};

// Never fails: what the rows do not give stays empty. A synthetic profile is fitted like any other; whoever decides
// looks at profile.synthetic.
std::shared_ptr<const FittedProfile> FitProfile(HardwareProfile profile);

}  // namespace flightplan
