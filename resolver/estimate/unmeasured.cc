#include "resolver/estimate/unmeasured.h"

#include <algorithm>
#include <array>

namespace flightplan {
namespace {

struct Term {
  absl::string_view name;
  bool (*in)(const LayerKind& kind);
};

// Forward passes of the first are published, backward passes of none of them.
constexpr std::array<Term, 5> kAttentionTerms = {{
    {"gated delta net scan",
     [](const LayerKind& kind) {
       return kind.attention == AttentionKind::kGatedDelta || kind.attention == AttentionKind::kKimiDelta;
     }},
    {"Mamba scan", [](const LayerKind& kind) { return kind.attention == AttentionKind::kMamba; }},
    {"compressed attention", [](const LayerKind& kind) { return kind.attention == AttentionKind::kCompressed; }},
    {"sparse attention indexer", [](const LayerKind& kind) { return kind.indexer; }},
    {"factorised attention", [](const LayerKind& kind) { return kind.attention == AttentionKind::kFactorised; }},
}};

}  // namespace

std::vector<absl::string_view> UnmeasuredTerms(const ModelShape& shape, const Candidate& plan) {
  std::vector<absl::string_view> names;
  for (const Term& term : kAttentionTerms) {
    const auto* const end = shape.kinds.data() + shape.kind_count;
    if (std::any_of(shape.kinds.data(), end, term.in)) names.push_back(term.name);
  }
  // How far an untrained router's busiest rank is above the mean differs from run to run.
  if (plan.imbalance > 1 && plan.ep > 1) names.emplace_back("natural routing");
  // The published runs of Llama adapt one layer of its attention.
  const bool beyond = (plan.adapters.targets & ~unsigned{kAdaptQkv}) != 0 || shape.is_moe();
  if (plan.adapters.any() && beyond) names.emplace_back("low-rank adapters");
  return names;
}

}  // namespace flightplan
