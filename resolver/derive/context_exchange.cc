#include "resolver/derive/context_exchange.h"

#include <algorithm>
#include <numeric>

namespace flightplan {
namespace {

// Floating point operations of attention that an H100 does while its 400G card moves one byte: 500 TFLOP/s over
// 41 GB/s (measured_rates.yaml), no GPU since has less. A ring step moves the keys and values of T tokens, 2 * groups *
// width bytes each, beside T * T / 2 pairs of tokens of 4 * heads * width operations.
constexpr double kOperationsPerByte = 12'000;

bool RingHides(const ModelShape& shape, double local_tokens) {
  const double groups = static_cast<double>(shape.is_mla() ? shape.heads : shape.groups);
  return groups * kOperationsPerByte <= static_cast<double>(shape.heads) * local_tokens;
}

bool HasWindow(const ModelShape& shape) {
  return std::any_of(shape.kinds.begin(), shape.kinds.begin() + shape.kind_count,
                     [](const LayerKind& kind) { return kind.window > 0; });
}

}  // namespace

ContextExchange ContextExchangeOf(const ModelShape& shape, int64_t tp, int64_t cp, int64_t seq_length,
                                  int64_t domain_gpus) {
  if (cp <= 1) return {};
  // Heads and groups on a tensor-parallel rank; groups that do not divide are repeated, one on each rank.
  const int64_t heads = std::max<int64_t>(1, shape.heads / tp);
  const int64_t groups = shape.is_mla() ? heads : std::max<int64_t>(1, shape.groups / tp);
  const int64_t spread = std::gcd(heads, groups);
  if (shape.sinks) return {CpComm::kAllToAll, 1, 1};
  if (HasWindow(shape)) return {spread % cp == 0 ? CpComm::kAllToAll : CpComm::kAllGather, 1, 1};
  const int64_t near = std::max<int64_t>(1, domain_gpus / tp);
  const int64_t tokens = seq_length / cp;
  if (cp <= near || RingHides(shape, static_cast<double>(tokens))) return {};
  int64_t inside = std::gcd(spread, cp);
  while (inside > near || cp % inside != 0 || spread % inside != 0) --inside;
  if (inside <= 1) return {};
  return {CpComm::kAllToAllP2p, inside, cp / inside};
}

}  // namespace flightplan
