#include "resolver/estimate/memory.h"

#include <algorithm>
#include <array>

#include "resolver/catalog/memory_coefficients.h"

namespace flightplan {
namespace {

namespace m = memory;

// How far a part may be from its value, as factors.
struct Spread {
  double low = 1, high = 1;
};

constexpr Spread Relative(const Coefficient& c) { return {c.low / c.value, c.high / c.value}; }

// `balanced`: something forces or caps how many tokens a rank's experts see.
constexpr Spread SpreadOf(MemoryPart part, bool balanced, bool expandable) {
  switch (part) {
    case MemoryPart::kParameters:
    case MemoryPart::kGradients:
    case MemoryPart::kOptimizerState:
      return {m::kStaticSpread.low, m::kStaticSpread.high};
    case MemoryPart::kAttention:
    case MemoryPart::kDenseMlp:
    case MemoryPart::kLoss:
    case MemoryPart::kBackward:
    case MemoryPart::kOptimizerStep:
    case MemoryPart::kWeightScratch:
      return {m::kModelSpread.low, m::kModelSpread.high};
    case MemoryPart::kExperts:
      // Where nothing forces or caps the balance, a rank may see less or much more than the mean.
      return balanced ? Spread{m::kModelSpread.low, m::kModelSpread.high}
                      : Spread{m::kRoutingSpread.low, m::kRoutingSpread.high};
    case MemoryPart::kWorkspaces:
      return Relative(m::kWorkspaceBytes);
    case MemoryPart::kDispatch:
      return {m::kDispatchSpread.low, m::kDispatchSpread.high};
    case MemoryPart::kGraphs:
      return Relative(m::kGraphFixedBytes);
    case MemoryPart::kCommunicators:
      return Relative(m::kCommunicatorBytes);
    case MemoryPart::kContext:
      return Relative(m::kContextBytes);
    case MemoryPart::kFragmentation:
      return Relative(expandable ? m::kFragmentationExpandable : m::kFragmentation);
  }
  return {};
}

using Spreads = std::array<Spread, kMemoryParts>;

constexpr Spreads SpreadsOf(bool balanced, bool expandable) {
  Spreads spreads;
  for (size_t i = 0; i < kMemoryParts; ++i) spreads[i] = SpreadOf(static_cast<MemoryPart>(i), balanced, expandable);
  return spreads;
}

constexpr Spreads kSpreads[2][2] = {{SpreadsOf(false, false), SpreadsOf(false, true)},
                                    {SpreadsOf(true, false), SpreadsOf(true, true)}};

}  // namespace

double RoomOf(double filled) {
  for (const double room : kRooms) {
    if (filled <= room) return room;
  }
  return filled;
}

double RoomInPlaceOf(double filled) {
  constexpr double kNearlyTheSame = 1.002;
  return std::min(RoomOf(filled), kNearlyTheSame * filled);
}

absl::string_view Name(FitVerdict verdict) {
  switch (verdict) {
    case FitVerdict::kUnknown:
      return "unknown";
    case FitVerdict::kFits:
      return "fits";
    case FitVerdict::kMarginal:
      return "marginal";
    case FitVerdict::kDoesNotFit:
      return "does not fit";
  }
  return "";
}

FitVerdict Judge(const Band& total, double capacity) {
  if (capacity <= 0) return FitVerdict::kUnknown;
  if (total.high <= capacity) return FitVerdict::kFits;
  return total.value > capacity ? FitVerdict::kDoesNotFit : FitVerdict::kMarginal;
}

namespace {

StageForecast WithBands(const StageBytes& bytes, const Candidate& candidate, int rank, MemoryPart* widest) {
  StageForecast forecast;
  forecast.rank = rank;
  forecast.bytes = bytes;
  double most = -1;
  const bool balanced = candidate.imbalance == 1 || candidate.drop_pad;
  const Spreads& spreads = kSpreads[balanced ? 1 : 0][candidate.expandable_segments ? 1 : 0];
  for (size_t i = 0; i < kMemoryParts; ++i) {
    const auto part = static_cast<MemoryPart>(i);
    const double value = forecast.bytes.parts[i];
    const Spread& spread = spreads[i];
    const Band band{value * spread.low, value, value * spread.high};
    for (Band* sum : {&forecast.allocated, &forecast.total}) {
      if (sum == &forecast.allocated && part > MemoryPart::kWorkspaces) continue;
      sum->low += band.low;
      sum->value += band.value;
      sum->high += band.high;
    }
    if (band.high - band.value > most) {
      most = band.high - band.value;
      if (widest != nullptr) *widest = part;
    }
  }
  return forecast;
}

}  // namespace

StageForecast ForecastStage(const MemoryModel& model, const Candidate& candidate, int rank, MemoryPart* widest) {
  return WithBands(model.Stage(rank), candidate, rank, widest);
}

void ForecastMemory(const ModelShape& shape, const Candidate& candidate, const GpuMemory& gpu, MemoryForecast* out) {
  const MemoryModel model(shape, candidate, gpu.device);
  int rank = 0;
  const StageBytes bytes = model.Fullest(&rank);
  out->fullest = WithBands(bytes, candidate, rank, &out->widest);
  out->verdict = Judge(out->fullest.total, gpu.capacity);
}

// The optimizer on the host has FP32 copies of parameters and gradients, in pinned memory, and two moments
// (Megatron-LM@d98e8a64dd megatron/core/optimizer/cpu_offloading/hybrid_optimizer.py). PyTorch hands pinned memory out
// in powers of two (aten/src/ATen/core/CachingHostAllocator.h), which for any size takes 1 / ln 2 of it on average.
Band ForecastHost(const MemoryModel& model, const Candidate& candidate, int rank, const GpuMemory& gpu) {
  constexpr double kPinned = 4 + 4, kMoments = 4 + 4, kRounded = 1.4427;
  const double parameters =
      model.ParametersOnHost(rank) * static_cast<double>(std::min<int64_t>(gpu.gpus_per_node, candidate.gpus));
  return {parameters * (kMoments + kPinned), parameters * (kMoments + kPinned * kRounded),
          parameters * (kMoments + kPinned * 2)};
}

double MemoryLowerBound(const ModelShape& shape, const Candidate& candidate, const MemoryDevice& device) {
  return MemoryLowerBound(MemoryModel(shape, candidate, device));
}

double MemoryLowerBound(const MemoryModel& model) { return model.StaticBytes() * m::kStaticSpread.low; }

}  // namespace flightplan
