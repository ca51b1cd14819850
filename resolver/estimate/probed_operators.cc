#include "resolver/estimate/probed_operators.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace flightplan {
namespace {

// Beyond this factor between widths a kernel fills the GPU otherwise than the one that was timed.
constexpr double kOtherWidth = 2;

struct Operator {
  absl::string_view name, id;
  bool scan;
  bool (*in)(const LayerKind& kind);
  double (*width)(const ModelShape& shape);
};
constexpr Operator kOperators[] = {
    {"Mamba scan", "mamba.scan", true, [](const LayerKind& kind) { return kind.attention == AttentionKind::kMamba; },
     [](const ModelShape& s) { return static_cast<double>(s.mamba_heads * s.mamba_head_dim * s.mamba_state); }},
    {"gated delta net scan", "delta.scan", true,
     [](const LayerKind& kind) { return kind.attention == AttentionKind::kGatedDelta; },
     [](const ModelShape& s) {
       return static_cast<double>(s.linear_value_heads * s.linear_key_dim * s.linear_value_dim);
     }},
    {"sparse attention indexer", "dsa.index", false,
     [](const LayerKind& kind) { return kind.indexer && kind.attention == AttentionKind::kLatent; },
     [](const ModelShape& s) { return static_cast<double>(s.indexer_heads * s.indexer_dim); }},
};

bool IsScan(const LayerKind& kind) {
  return kind.attention == AttentionKind::kMamba || kind.attention == AttentionKind::kGatedDelta ||
         kind.attention == AttentionKind::kKimiDelta;
}

// The rows are of Megatron-Core's own indexer; a fused one is another kernel.
bool RunsOtherIndexer(const NormalizedIntent& intent) {
  return std::any_of(intent.pins.begin(), intent.pins.end(), [](const auto& pin) {
    return pin.first == Knob::dsa_kernel_backend && pin.second != Value("none");
  });
}

}  // namespace

std::vector<ProbedOperator> ProbedOperators(const NormalizedIntent& intent) {
  std::vector<ProbedOperator> probed;
  if (intent.probe == nullptr || intent.probe->fitted->operators.empty()) return probed;
  std::optional<ModelShape> made;
  if (intent.shape == nullptr) {
    absl::StatusOr<ModelShape> shape = MakeShape(intent.model);
    if (!shape.ok()) return probed;
    made = *std::move(shape);
  }
  const ModelShape& shape = made.has_value() ? *made : *intent.shape;
  const auto* const begin = shape.kinds.data();
  const auto* const end = begin + shape.kind_count;
  const auto sequence = static_cast<double>(std::max<int64_t>(1, intent.workload.seq_length));
  for (const Operator& each : kOperators) {
    if (!std::any_of(begin, end, each.in)) continue;
    // One rate serves all scans of a model, so that it must be of all of them.
    if (each.scan && !std::all_of(begin, end, [&](const LayerKind& kind) { return each.in(kind) || !IsScan(kind); }))
      continue;
    if (!each.scan && RunsOtherIndexer(intent)) continue;
    const double width = each.width(shape);
    const FittedOperator* row = NearestOperator(intent.probe->fitted->operators, each.id, width, sequence);
    if (row == nullptr || !(width > 0) || (each.scan && !(row->backward_us > 0))) continue;
    const bool other = std::max(row->width / width, width / row->width) > kOtherWidth;
    probed.push_back({each.name, row, row->error + (other ? kStandInError : 0)});
  }
  return probed;
}

GpuRates WithOperators(GpuRates rates, const std::vector<ProbedOperator>& operators, double strange) {
  for (const ProbedOperator& each : operators) {
    if (each.row->id == "dsa.index") {
      rates.indexer_us = each.row->forward_us;
      continue;
    }
    rates.scan_us = each.row->forward_us;
    rates.k.scan_backward = each.row->backward_us / each.row->forward_us;
    rates.scan_measured = true;
    rates.error.scan = each.error + strange;
  }
  return rates;
}

}  // namespace flightplan
