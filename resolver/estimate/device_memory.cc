#include "resolver/estimate/device_memory.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flightplan {
namespace {

namespace m = memory;

// Full recompute computes them again, too.
bool ComputesExpertsAgain(const Candidate& candidate) {
  if (candidate.recompute == RecomputeMode::kSelective) return (candidate.recompute_modules & kDropMoe) != 0;
  return candidate.recompute != RecomputeMode::kNone;
}

// The larger half of a part's range, as bytes.
double HalfOf(const Coefficient& c, double bytes) {
  return bytes * std::max(c.high - c.value, c.value - c.low) / c.value;
}

}  // namespace

// Few where each microbatch asks for the sizes of the last one. Segments that expand take any size, so that uneven rows
// leave nothing; what they do not help with is the peak of a pass that computes experts again.
const Coefficient& CachedShare(const Candidate& candidate, bool experts) {
  if (candidate.expandable_segments) {
    if (!experts) return m::kCachedExpandableDense;
    return ComputesExpertsAgain(candidate) ? m::kCachedExpandableExpertsAgain : m::kCachedExpandableExperts;
  }
  if (candidate.offload_modules != 0 || candidate.offload_layers > 0) return m::kCachedOffload;
  return experts && !candidate.drop_pad ? m::kCachedExperts : m::kCachedDense;
}

Band DeviceBand(const StageForecast& stage, const Candidate& candidate, bool experts, double capacity) {
  const auto part = [&](MemoryPart name) { return stage.bytes[name]; };
  const Coefficient& share = CachedShare(candidate, experts);
  const double allocated = stage.allocated.value, context = part(MemoryPart::kContext);
  // What asks for more than there is ends before anything could be read off, whatever else is not counted here.
  if (capacity > 0 && allocated > capacity) return {};
  const double used = part(MemoryPart::kCommunicators) * m::kCommunicatorUsedBytes.value / m::kCommunicatorBytes.value;
  const double graphs = part(MemoryPart::kGraphs), dispatch = part(MemoryPart::kDispatch);
  Band band;
  band.value = allocated * (1 + share.value) + dispatch + graphs + used + context;
  // Errors of parts that do not depend on each other: they add up as squares.
  const auto half = [&](double of_allocated, double of_share) {
    return std::hypot(std::hypot(of_allocated, of_share * allocated, HalfOf(m::kCommunicatorUsedBytes, used)),
                      HalfOf(m::kGraphFixedBytes, std::min(graphs, m::kGraphFixedBytes.value)),
                      HalfOf(m::kContextBytes, context));
  };
  band.low = band.value - half(allocated - stage.allocated.low, share.value - share.low);
  band.high = band.value + half(stage.allocated.high - allocated, share.high - share.value);
  // At the edge the allocator gives blocks back instead of asking for more.
  const double most = capacity > 0 ? capacity : std::numeric_limits<double>::infinity();
  const auto held = [&](double shown, double needed) { return std::min(std::max(shown, needed), most); };
  return {held(band.low, stage.allocated.low), held(band.value, stage.total.value), held(band.high, stage.total.value)};
}

}  // namespace flightplan
