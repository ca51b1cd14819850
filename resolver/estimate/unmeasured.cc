#include "resolver/estimate/unmeasured.h"

#include <algorithm>
#include <array>

namespace flightplan {
namespace {

struct Term {
  absl::string_view name;
  bool (*in)(const LayerKind& kind, const GpuRates& rates);
};

// Only of latent attention are there rows.
bool HasIndexerRows(const LayerKind& kind, const GpuRates& rates) {
  return kind.attention == AttentionKind::kLatent && rates.indexer_us > 0;
}

// Forward passes of the first are published, backward passes of none of them.
constexpr std::array<Term, 6> kAttentionTerms = {{
    {"gated delta net scan",
     [](const LayerKind& kind, const GpuRates& rates) {
       const bool delta = kind.attention == AttentionKind::kGatedDelta || kind.attention == AttentionKind::kKimiDelta;
       return delta && !rates.scan_measured;
     }},
    {"Mamba scan",
     [](const LayerKind& kind, const GpuRates& rates) {
       return kind.attention == AttentionKind::kMamba && !rates.scan_measured;
     }},
    {"compressed attention",
     [](const LayerKind& kind, const GpuRates&) { return kind.attention == AttentionKind::kCompressed; }},
    {"sparse attention indexer",
     [](const LayerKind& kind, const GpuRates& rates) { return kind.indexer && !HasIndexerRows(kind, rates); }},
    // With its indexer measured, what is left: attention over the chosen keys, and the loss that trains the indexer.
    {"sparse attention",
     [](const LayerKind& kind, const GpuRates& rates) { return kind.indexer && HasIndexerRows(kind, rates); }},
    {"factorised attention",
     [](const LayerKind& kind, const GpuRates&) { return kind.attention == AttentionKind::kFactorised; }},
}};

}  // namespace

std::vector<absl::string_view> UnmeasuredTerms(const ModelShape& shape, const Candidate& plan, const GpuRates& rates) {
  std::vector<absl::string_view> names;
  GpuRates own = rates;
  if (plan.sparse_kernels) own.indexer_us = 0;  // the rows are of other code
  for (const Term& term : kAttentionTerms) {
    const auto* const end = shape.kinds.data() + shape.kind_count;
    if (std::any_of(shape.kinds.data(), end, [&](const LayerKind& kind) { return term.in(kind, own); }))
      names.push_back(term.name);
  }
  // One forward kernel of an inference library is published.
  if (shape.residual_streams > 1) names.emplace_back("hyper-connections");
  if (plan.deterministic) names.emplace_back("deterministic kernels");
  if (!rates.network_measured) names.emplace_back("network without RDMA");
  // How far an untrained router's busiest rank is above the mean differs from run to run.
  if (plan.imbalance > 1 && plan.ep > 1 && !plan.drop_pad) names.emplace_back("natural routing");
  // The published runs of Llama adapt one layer of its attention.
  const bool beyond = (plan.adapters.targets & ~unsigned{kAdaptQkv}) != 0 || shape.is_moe() ||
                      plan.adapters.magnitudes || plan.adapters.split;
  if (plan.adapters.any() && beyond) names.emplace_back("low-rank adapters");
  return names;
}

}  // namespace flightplan
