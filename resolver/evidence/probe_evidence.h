// What a decision may ask of a probe's profile: figures for the very layout at hand, each with its interval and the row
// that it rests on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resolver/evidence/profile_source.h"
#include "resolver/plan/config.h"

namespace flightplan {

struct NormalizedIntent;

// What the rate of an exchange rests on: the catalogue's link rate; another program's output; this backend's own
// exchange between this node's devices; or the probe's kernels between them, standing in for the backend's.
enum class ExchangeSource { kCatalogue, kImported, kMeasured, kOwnKernels };

// Expert-parallel overlap on against off.
struct OverlapOutlook {
  double change = 0, low = 0, high = 0;  // relative change of the step; negative is faster
  double corun_gain = 0, corun_error = 0;
  RowKind corun_kind = RowKind::kMeasured;  // of the rows that the gain rests on
  double sms = 0;                           // of the exchange, at which the gain was measured
  double exchange_us = 0, expert_us = 0;    // one layer and microbatch, forward, one after the other
  ExchangeSource exchange_source = ExchangeSource::kCatalogue;
  std::vector<std::string> citations;  // rows of the profile
};

// How many SMs to give a flex dispatcher.
struct SmOutlook {
  int best = 0, low = 0, high = 0;  // nothing measured tells the counts in [low, high] from the best
  bool emulated = false;            // a link that is not there was stood in for
  std::vector<std::string> citations;
};

class ProbeEvidence {
 public:
  ProbeEvidence(std::shared_ptr<const FittedProfile> f, ProfileOrigin o) : fitted(std::move(f)), origin(o) {}
  virtual ~ProbeEvidence() = default;

  // Nothing where the profile lacks the co-run rows, or the layout has no exchange. Both take the configuration as
  // decided so far.
  virtual std::optional<OverlapOutlook> EpOverlap(const NormalizedIntent& intent, const Config& config) const = 0;
  virtual std::optional<SmOutlook> DispatcherSms(const NormalizedIntent& intent, const Config& config) const = 0;

  // "this H200", "an H200 of this site".
  std::string Device() const;
  // "probe profile h200-a: corun.matrix, push beside gemm, 20 SMs".
  std::string Cite(absl::string_view row) const;

  const std::shared_ptr<const FittedProfile> fitted;  // never null
  const ProfileOrigin origin;
};

// A measurement of another GPU of the type says less of this one: its errors are widened by so much (relative).
double StrangeError(ProfileOrigin origin);

}  // namespace flightplan
