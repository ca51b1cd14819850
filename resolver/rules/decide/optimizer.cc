// Where optimizer state lives.
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/base/bytes.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"

namespace flightplan::decide {
namespace {

using K = Knob;

constexpr absl::string_view kOffloadRule = "decide.offload";

Finding DoesNotFit(const Deliberation& d, double bytes) {
  Finding finding = DecisionWarning(kDoesNotFitRule, "fit");
  finding.seen = absl::StrFormat("about %.0f GiB a GPU by the closed formulas, %s on %s", bytes / kGib, KeptFree(d.f),
                                 d.intent.gpu.name);
  finding.needs = "a layout that splits the model further (more PP, EP or TP), or fewer tokens in a microbatch";
  return finding;
}

// Where recompute makes the room, the offload is what it makes needless: a question that gives the recompute back as a
// word would else be answered with both.
void KeepOnGpu(Deliberation& d) {
  if (!d.recompute_needed || d.config().Get(K::recompute_granularity).is_none()) return;
  d.Choose(K::optimizer_cpu_offload, false,
           {.rule_id = kOffloadRule,
            .reason = "what is computed again makes room enough: its state stays on the GPU",
            .basis = Basis::kEstimate,
            .citations = {evidence::kOptimizerOffloadCost}});
}

void FollowOffload(Deliberation& d) {
  d.Follow(K::use_precision_aware_optimizer, true, K::optimizer_cpu_offload, kOffloadRule,
           "host offload is built on it");
  d.Follow(K::overlap_cpu_optimizer_d2h_h2d, true, K::optimizer_cpu_offload, kOffloadRule,
           "measured 7 % faster than without");
}

}  // namespace

void DecideOptimizer(Deliberation& d) {
  if (d.f.fsdp) return;
  const int64_t shards = d.f.dp * d.f.cp;
  d.Choose(K::use_distributed_optimizer, true,
           {.rule_id = "decide.optimizer",
            .reason = absl::StrCat("optimizer state is sharded over ", shards, shards == 1 ? " rank" : " ranks",
                                   d.f.moe ? absl::StrCat(", the experts' over ", d.f.edp) : ""),
            .citations = {evidence::kMoeGuide}});
}

void DecideOffload(Deliberation& d) {
  const Features& f = d.f;
  if (d.on(K::optimizer_cpu_offload)) return FollowOffload(d);  // the caller's
  if (f.seq <= 0) return;
  if (Fits(f, d.footprint_bytes)) return KeepOnGpu(d);
  // Last resort, because it is dear: part of the optimizer on the host. Needs the precision-aware optimizer.
  const Value& share = d.value(K::optimizer_offload_fraction);
  const bool given = d.pinned(K::optimizer_offload_fraction) && share.is_number() && share.real() > 0;
  const bool free = d.open(K::optimizer_cpu_offload) && (d.open(K::optimizer_offload_fraction) || given) &&
                    (d.open(K::use_precision_aware_optimizer) || d.on(K::use_precision_aware_optimizer)) && !f.fsdp;
  const double optimizer = MemoryNeed(f, {})[MemoryPart::kOptimizerState];
  for (const double fraction : given ? std::vector<double>{share.real()} : std::vector<double>{0.25, 0.5, 0.75, 1.0}) {
    if (!free || !Fits(f, d.footprint_bytes - fraction * optimizer)) continue;
    d.Choose(K::optimizer_cpu_offload, true,
             {.rule_id = kOffloadRule,
              .reason = "by the closed formulas recompute alone does not make room enough",
              .basis = Basis::kEstimate,
              .citations = {evidence::kOptimizerOffloadCost},
              .alternatives = {{Value(false), "a layout that splits the model further costs less time"}}});
    d.Follow(K::optimizer_offload_fraction, fraction, K::optimizer_cpu_offload, kOffloadRule,
             "the smallest quarter step that fits");
    return FollowOffload(d);
  }
  d.Report(DoesNotFit(d, d.footprint_bytes));
}

}  // namespace flightplan::decide
