#include "resolver/planner/space.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "resolver/base/work.h"
#include "resolver/derive/schedule.h"

namespace flightplan {
namespace {

// Divisors of n in ascending order, at most `most`.
std::vector<int64_t> Divisors(int64_t n, int64_t most) {
  std::vector<int64_t> low, high;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    if (d <= most) low.push_back(d);
    if (d != n / d && n / d <= most) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

bool Wanted(int64_t wish, int64_t size) { return wish == 0 || wish == size; }

// TP splits heads, MLP widths and, with sequence parallelism, the sequence. Query groups are split, or repeated when
// there are fewer of them than ranks.
bool TensorSizeFits(const ModelShape& shape, const LayoutQuestion& question, int64_t tp) {
  if (tp == 1) return true;
  const bool heads = shape.heads == 0 || shape.heads % tp == 0;
  const bool groups = shape.is_mla() || shape.groups == 0 || shape.groups % tp == 0 || tp % shape.groups == 0;
  const bool linear = shape.linear_value_heads % tp == 0 && shape.linear_key_heads % tp == 0;
  const bool mamba = shape.mamba_heads % tp == 0 && shape.mamba_groups % tp == 0;
  const bool widths = shape.ffn % tp == 0 && shape.shared_ffn % tp == 0;
  const bool sequence = !question.sequence_parallel || question.seq_length % tp == 0;
  return heads && groups && linear && mamba && widths && sequence;
}

// Attention sinks leave context parallelism the all-to-all alone, which deals out the heads and the query groups of a
// tensor-parallel rank (derive/context_exchange.h).
bool SinksFit(const ModelShape& shape, int64_t cp, int64_t tp) {
  const int64_t groups = shape.is_mla() ? shape.heads : shape.groups;
  return !shape.sinks || (shape.heads / tp % cp == 0 && std::max<int64_t>(1, groups / tp) % cp == 0);
}

// Context parallelism gives every rank a chunk from the front and one from the back. State that runs along the sequence
// cannot be cut that way: its layers exchange the sequence for heads (rules/core/attention_variant, hybrid_build).
bool ContextSizeFits(const ModelShape& shape, const LayoutQuestion& question, int64_t cp, int64_t tp) {
  if (cp == 1) return true;
  const bool linear = shape.linear_value_heads % (tp * cp) == 0 && shape.linear_key_heads % (tp * cp) == 0;
  const int64_t groups = shape.mamba_groups / tp;
  const bool mamba = shape.mamba_heads / tp % cp == 0 && (groups == 0 || groups % cp == 0 || cp % groups == 0);
  return linear && mamba && SinksFit(shape, cp, tp) &&
         question.seq_length % (2 * cp * (question.sequence_parallel ? tp : 1)) == 0;
}

// With CP and the micro-batch both divided by a common factor a rank holds the same tokens of the same number of
// microbatches, in the same groups of data and context parallel ranks, but its sequences are cut less: less to
// transfer, nothing lost. What is given may not be divided.
bool CutInVain(const LayoutQuestion& question, int64_t cp, int64_t micro_batch_size) {
  return question.wish.cp == 0 && question.wish.micro_batch_size == 0 && std::gcd(cp, micro_batch_size) > 1;
}

// Of a combination that is looked at and not legal, in units of base/work.h.
constexpr size_t kWorkOfSizes = 4;

// The embedding and the loss may have stages of their own, and prediction layers where the caller asks for as many.
int64_t MostStages(const ModelShape& shape, const LayoutQuestion& question) {
  return shape.num_layers + 2 + (question.wish.vpp > 0 ? shape.mtp_depths : 0);
}

bool StagesFit(const ModelShape& shape, const LayoutQuestion& question, int64_t pp, int64_t vpp) {
  const int64_t stages = pp * vpp;
  if (stages == 1) return true;
  if (question.layout_stages > 0) return stages == question.layout_stages;
  // As BalancedStages splits them, with a layer's place for the embedding.
  if ((shape.num_layers + shape.mtp_depths + 2) / stages - 1 < question.first_stage_layers) return false;
  if (shape.num_layers % stages == 0) return true;
  return !question.even_stages && stages <= MostStages(shape, question);
}

}  // namespace

void VisitLayouts(const ModelShape& shape, const LayoutQuestion& q,
                  const std::function<void(const LayoutSizes&)>& enter,
                  const std::function<bool(const LayoutSizes&)>& visit) {
  const int64_t most_stages = std::min<int64_t>(q.gpus, std::max<int64_t>(1, shape.num_layers));
  std::vector<std::pair<int64_t, int64_t>> pipelines;  // pp, vpp
  for (int64_t pp : Divisors(q.gpus, most_stages)) {
    for (int64_t vpp = 1; vpp == 1 || (pp > 1 && vpp <= kMostVirtualStages && vpp * pp <= MostStages(shape, q));
         ++vpp) {
      const bool wanted = Wanted(q.wish.pp, pp) && Wanted(q.wish.vpp, vpp);
      if (wanted && StagesFit(shape, q, pp, vpp)) pipelines.emplace_back(pp, vpp);
    }
  }
  const std::vector<int64_t> experts = shape.is_moe() ? Divisors(shape.experts, q.gpus) : std::vector<int64_t>{1};
  const std::vector<int64_t> splits = shape.is_moe() ? Divisors(shape.expert_ffn, q.gpus) : std::vector<int64_t>{1};
  const std::vector<int64_t> batches = Divisors(q.global_batch_size, q.global_batch_size);
  for (int64_t tp : Divisors(q.gpus, q.gpus)) {
    if (!Wanted(q.wish.tp, tp) || !TensorSizeFits(shape, q, tp)) continue;
    for (int64_t cp : Divisors(q.gpus / tp, q.seq_length)) {
      if (!Wanted(q.wish.cp, cp) || !ContextSizeFits(shape, q, cp, tp)) continue;
      for (int64_t ep : experts) {
        if (shape.is_moe() && !Wanted(q.wish.ep, ep)) continue;
        for (int64_t etp : splits) {
          Work::Spend(kWorkOfSizes);
          if (shape.is_moe() && (!Wanted(q.wish.etp, etp) || q.gpus % (ep * etp) != 0)) continue;
          if (shape.is_moe() && q.experts_as_dense && ep == 1 && etp != tp) continue;
          for (int64_t mbs : batches) {
            if (!Wanted(q.wish.micro_batch_size, mbs) || CutInVain(q, cp, mbs)) continue;
            Work::Spend(kWorkOfSizes * pipelines.size());
            if (Work::Spent()) return;
            LayoutSizes sizes{static_cast<int32_t>(tp),  0,  0, static_cast<int32_t>(cp), static_cast<int32_t>(ep),
                              static_cast<int32_t>(etp), mbs};
            enter(sizes);
            for (const auto& [pp, vpp] : pipelines) {
              if (q.gpus % (tp * cp * pp) != 0 || q.gpus % (ep * etp * pp) != 0) continue;
              const int64_t samples = mbs * (q.gpus / (tp * cp * pp));
              if (samples > q.global_batch_size || q.global_batch_size % samples != 0) continue;
              const int64_t microbatches = q.global_batch_size / samples;
              // The interleaved schedule fills a group of pp microbatches at a time.
              if (vpp > 1 && microbatches % pp != 0) continue;
              sizes.pp = static_cast<int32_t>(pp), sizes.vpp = static_cast<int32_t>(vpp);
              if (q.allowed != nullptr && !q.allowed(sizes)) continue;
              if (!visit(sizes)) return;
            }
          }
        }
      }
    }
  }
}

std::vector<Recompute> RecomputeSets(const ModelShape& shape) {
  bool dense = false, moe = false;
  for (int i = 0; i < shape.kind_count; ++i) {
    dense |= shape.kinds[static_cast<size_t>(i)].mlp == MlpKind::kDense;
    moe |= shape.kinds[static_cast<size_t>(i)].mlp == MlpKind::kMoe;
  }
  std::vector<uint16_t> modules;
  if (shape.is_mla() || moe) modules.push_back(kDropLayernorm);
  if (shape.is_mla()) modules.push_back(kDropMlaUpProj);
  if (dense) modules.push_back(kDropMlp);
  if (moe) modules.push_back(kDropMoeAct);
  if (shape.shared_ffn > 0) modules.push_back(kDropSharedExperts);
  if (moe) modules.push_back(kDropMoe);
  std::vector<Recompute> sets;
  sets.reserve((size_t{1} << modules.size()) + 1);
  sets.emplace_back();
  for (uint32_t subset = 1; subset < (1u << modules.size()); ++subset) {
    uint16_t bits = 0;
    for (size_t i = 0; i < modules.size(); ++i) {
      if ((subset >> i & 1u) != 0) bits = static_cast<uint16_t>(bits | modules[i]);
    }
    const bool twice = (bits & kDropMoe) != 0 && (bits & (kDropMoeAct | kDropSharedExperts)) != 0;
    if (!twice) sets.push_back({RecomputeMode::kSelective, bits});
  }
  sets.push_back({RecomputeMode::kFullUniform, 0});
  return sets;
}

bool Serves(const Exchange& exchange, int64_t span) {
  if ((exchange.max_span > 0 && span > exchange.max_span) || span < exchange.min_span) return false;
  const absl::Span<const int64_t> spans = exchange.spans;
  return spans.empty() || std::find(spans.begin(), spans.end(), span) != spans.end();
}

bool Compatible(const ModelShape& shape, const LayoutSizes& sizes, const Exchange& exchange, const Graphs& graphs) {
  if ((graphs.max_pp > 0 && sizes.pp > graphs.max_pp) || sizes.pp < exchange.min_pp) return false;
  if (!Serves(exchange, int64_t{sizes.ep} * sizes.etp)) return false;
  if (!exchange.ep_overlap) return true;
  if (sizes.ep <= 1 || shape.mtp_depths > 1) return false;
  if (sizes.pp > 1 && sizes.vpp <= 1) return false;
  const uint8_t captured = ModulesBeside(exchange, graphs);
  if (captured == 0 && graphs.modules != 0) return false;  // a list without modules would capture everything
  return (captured & (kGraphMoe | kGraphMlp)) == 0;
}

bool Compatible(const Exchange& exchange, const Graphs& graphs, const Recompute& recompute) {
  const bool full = recompute.mode == RecomputeMode::kFullUniform || recompute.mode == RecomputeMode::kFullBlock;
  if (exchange.ep_overlap && (full || (recompute.modules & kDropMoe) != 0)) return false;
  if (!exchange.ep_overlap && (recompute.modules & kDropWithinOverlap) != 0) return false;
  if (exchange.shared_expert == SharedExpert::kOverlapped && (recompute.modules & kDropSharedExperts) != 0)
    return false;
  if ((recompute.modules & graphs.never_recomputed) != 0) return false;
  const bool scoped = graphs.impl == GraphImpl::kLocal || graphs.impl == GraphImpl::kTransformerEngine;
  return !(scoped && full);
}

bool Compatible(const LayoutSizes& sizes, const Recompute& recompute) {
  if (recompute.max_pp > 0 && sizes.pp > recompute.max_pp) return false;
  return recompute.offload_layers == 0 || sizes.pp == 1;
}

}  // namespace flightplan
