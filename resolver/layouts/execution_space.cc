#include "resolver/layouts/execution_space.h"

#include <algorithm>
#include <optional>

#include "resolver/layouts/given_knobs.h"
#include "resolver/rules/decide/features.h"

namespace flightplan {
namespace {

using K = Knob;

// A host link as fast as this (NVLink-C2C) can take the optimizer's state without losing more than it saves.
constexpr double kFastHostLink = 2e11;

}  // namespace

std::optional<Value> PinOf(const NormalizedIntent& intent, Knob knob) {
  for (const auto& [pin, value] : intent.pins) {
    if (pin == knob) return value;
  }
  return std::nullopt;
}

bool OffloadIsOpen(const NormalizedIntent& intent, const ModelShape& shape, const Config& config,
                   const Candidate& base) {
  return base.shard_weights && !shape.is_moe() && shape.num_layers >= 8 &&
         config.origin(K::cpu_offloading) != Origin::kAbsent && !PinOf(intent, K::cpu_offloading).has_value() &&
         !PinOf(intent, K::cpu_offloading_num_layers).has_value() &&
         !PinOf(intent, K::recompute_granularity).has_value();
}

namespace {

// The optimizer's state as it is with the offload on or off, and with the knobs that go with it.
OptimizerState StateWith(bool offload, const NormalizedIntent& intent, const ModelShape& shape, Config config,
                         const Candidate& base) {
  for (const Knob companion : kOffloadCompanions) {
    if (config.origin(companion) == Origin::kAbsent || PinOf(intent, companion).has_value()) continue;
    const bool followed = base.optimizer_offload > 0 && config.origin(companion) == Origin::kDecided;
    if (offload || followed) config.Set(companion, Value(offload), Origin::kDecided);
  }
  const Candidate c = CandidateOf(config, intent.env, shape, *base.stages);
  return {c.precision_aware,  c.gradient_copy, c.overlap_optimizer_copies,
          c.main_param_bytes, c.moment1_bytes, c.moment2_bytes};
}

}  // namespace

ExecutionSpace ExecutionsOf(const NormalizedIntent& intent, const ModelShape& shape, const Config& config,
                            const Candidate& base) {
  // Of the model's sizes and of its stages nothing is asked.
  const decide::Features f = decide::ExtractFeatures(intent, std::nullopt, config);
  ExecutionSpace space;

  const bool overlap_known = config.origin(K::overlap_moe_expert_parallel_comm) != Origin::kAbsent && f.moe;
  const bool overlap_pinned = PinOf(intent, K::overlap_moe_expert_parallel_comm).has_value();
  // Inside an NVLink domain the schedule was measured to cost more than the exchange that it hides, unless this GPU's
  // own measurements, or a profile of the run, say otherwise.
  const int64_t hidden_span = intent.probe != nullptr || intent.profile.has_value() ? 0 : f.domain + 1;
  const bool shared_pinned = PinOf(intent, K::moe_shared_expert_overlap).has_value();
  // Where it is open, the decisions hide part of an all-to-all behind the shared expert, and of nothing else.
  const auto shared = [&](Dispatcher dispatcher) {
    return base.shared_expert_overlap && (shared_pinned || dispatcher == Dispatcher::kAllToAll);
  };
  const auto add = [&](Dispatcher dispatcher, int64_t max_span) {
    const bool may_not = overlap_pinned ? !base.ep_overlap : true;
    const bool may = overlap_pinned ? base.ep_overlap : overlap_known && !(shared_pinned && base.shared_expert_overlap);
    if (may_not) space.exchanges.push_back({dispatcher, false, false, max_span, 0, shared(dispatcher)});
    // What delayed weight gradients add to the overlap is measured between nothing and a loss
    // (decide/expert_overlap.cc), so they are no way to win here.
    const bool delayed = base.ep_overlap && base.delay_wgrad;
    if (may) space.exchanges.push_back({dispatcher, true, delayed, max_span, overlap_pinned ? 0 : hidden_span});
  };
  if (PinOf(intent, K::moe_token_dispatcher_type).has_value() || !f.moe) {
    add(base.dispatcher, 0);
  } else {
    add(Dispatcher::kAllToAll, 0);
    const int64_t most = decide::FlexFailsBetweenNodes(f) ? f.domain : 0;
    if (f.deepep && decide::DeepepRuns(f, intent.gpu)) add(Dispatcher::kDeepEp, most);
    if (f.hybridep && decide::HybridepRuns(f, intent.gpu)) add(Dispatcher::kHybridEp, f.rack_scale ? f.domain : most);
  }

  space.graphs = {{}};
  if (PinOf(intent, K::cuda_graph_impl).has_value() || f.bring_up) {
    space.graphs = {{base.graphs, base.graph_modules}};
  } else if (config.origin(K::cuda_graph_impl) != Origin::kAbsent && !f.fsdp) {  // sharded parameters move
    const auto routing = static_cast<uint8_t>(f.moe ? kGraphMoeRouter | kGraphMoePreprocess : 0);
    space.graphs.push_back({GraphImpl::kTransformerEngine, kGraphAttn});
    if (routing != 0) {
      space.graphs.push_back({GraphImpl::kTransformerEngine, routing});
      space.graphs.push_back({GraphImpl::kTransformerEngine, static_cast<uint8_t>(routing | kGraphAttn)});
    }
  }

  space.recomputes = RecomputeSets(shape);
  if (PinOf(intent, K::recompute_granularity).has_value()) {
    space.recomputes = {{base.recompute, base.recompute_modules}};
  }
  if (OffloadIsOpen(intent, shape, config, base)) {
    for (int eighths = 1; eighths < 8; ++eighths) {
      space.recomputes.push_back({RecomputeMode::kNone, 0, static_cast<int32_t>(shape.num_layers * eighths / 8)});
    }
  }
  space.optimizer_offloads = {0};
  if (PinOf(intent, K::optimizer_cpu_offload).has_value()) {
    space.optimizer_offloads = {base.optimizer_offload};
  } else if (intent.gpu.host_link_bytes_per_second.value_or(0) >= kFastHostLink) {
    space.optimizer_offloads = {0, 1};
  }
  // Where the decisions pay dearly for room, the optimizer's state on the host is weighed against that.
  const bool full = base.recompute == RecomputeMode::kFullUniform || base.recompute == RecomputeMode::kFullBlock;
  const bool dear = base.optimizer_offload > 0 || full || (base.recompute_modules & kDropMoe) != 0;
  const bool may_offload = !PinOf(intent, K::optimizer_cpu_offload).has_value() && !f.fsdp &&
                           config.origin(K::optimizer_cpu_offload) != Origin::kAbsent;
  for (const float fraction : {0.25F, 0.5F, 0.75F, 1.0F}) {
    std::vector<float>& offloads = space.optimizer_offloads;
    const bool known = std::find(offloads.begin(), offloads.end(), fraction) != offloads.end();
    if (dear && may_offload && !known) offloads.push_back(fraction);
  }
  if (space.optimizer_offloads.size() > 1) {
    space.on_gpu = StateWith(false, intent, shape, config, base);
    space.on_host = StateWith(true, intent, shape, config, base);
  }
  return space;
}

}  // namespace flightplan
