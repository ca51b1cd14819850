#include "resolver/layouts/execution_space.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "resolver/derive/bridge_provider.h"
#include "resolver/derive/mxfp8_parameters.h"
#include "resolver/layouts/given_knobs.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/features.h"
#include "resolver/rules/deepep_groups.h"

namespace flightplan {
namespace {

using K = Knob;

// A host link as fast as this (NVLink-C2C) can take the optimizer's state without losing more than it saves.
constexpr double kFastHostLink = 2e11;
constexpr int64_t kMostSms = 1024;  // more than any GPU has

}  // namespace

std::optional<Value> PinOf(const NormalizedIntent& intent, Knob knob) {
  for (const auto& [pin, value] : intent.pins) {
    if (pin == knob) return value;
  }
  return std::nullopt;
}

namespace {

bool LayersAreOpen(const NormalizedIntent& intent, const ModelShape& shape, const Config& config,
                   const Candidate& base) {
  return base.shard_weights && !shape.is_moe() && shape.num_layers >= 8 &&
         config.origin(K::cpu_offloading) != Origin::kAbsent && !PinOf(intent, K::cpu_offloading).has_value() &&
         !PinOf(intent, K::cpu_offloading_num_layers).has_value() &&
         !PinOf(intent, K::recompute_granularity).has_value();
}

// Whether LoongForge may compute parts of a layer again within its overlap schedule.
bool WithinOverlapIsOpen(const NormalizedIntent& intent, const ModelShape& shape, const Config& config) {
  const Knob overlap = K::overlap_moe_expert_parallel_comm;
  const Stack& stack = StackOf(intent.env);
  return stack.fork && shape.is_moe() && config.origin(overlap) != Origin::kAbsent && !LeavesOff(stack, overlap) &&
         decide::ObstacleToOverlap(intent, config).empty() && !PinOf(intent, K::recompute_granularity).has_value();
}

bool TensorsAreOpen(const NormalizedIntent& intent, const ModelShape& shape, const Config& config) {
  return WithinOverlapIsOpen(intent, shape, config) &&
         config.origin(K::fine_grained_activation_offloading) != Origin::kAbsent &&
         !PinOf(intent, K::fine_grained_activation_offloading).has_value() &&
         !PinOf(intent, K::offload_tensors).has_value();
}

// The optimizer's state as it is with the offload on or off, and with the knobs that go with it.
OptimizerState StateWith(bool offload, const NormalizedIntent& intent, const ModelShape& shape, Config config,
                         const Candidate& base) {
  for (const Knob companion : kOffloadCompanions) {
    if (config.origin(companion) == Origin::kAbsent || PinOf(intent, companion).has_value()) continue;
    const bool followed = base.optimizer_offload > 0 && config.origin(companion) == Origin::kDecided;
    if (offload || followed) config.Set(companion, Value(offload), Origin::kDecided);
  }
  const bool gather_is_open = PlansGatherMxfp8(intent.env) && OffloadExcludesMxfp8Gather(intent.env) &&
                              InMxfp8(config) && MayGatherMxfp8(config);
  if (gather_is_open) config.Set(K::fp8_param_gather, Value(!offload), Origin::kDecided);
  const Candidate c = CandidateOf(config, intent.env, shape, *base.stages);
  return {c.low_precision_weights, c.precision_aware, c.gradient_copy, c.overlap_optimizer_copies,
          c.main_param_bytes,      c.moment1_bytes,   c.moment2_bytes};
}

// What is asked, and what follows from it.
struct Asked {
  const NormalizedIntent& intent;
  const ModelShape& shape;
  const Config& config;
  const Candidate& base;
  const decide::Features f;
  const ProviderLimits takes;

  bool Pinned(Knob knob) const { return PinOf(intent, knob).has_value(); }
  // The release has it, and the stack hands it on.
  bool Has(Knob knob) const { return config.origin(knob) != Origin::kAbsent && !LeavesOff(StackOf(intent.env), knob); }
};

// The SMs that a flex backend is given: the caller's, the plan's own, or else those that the decisions would take. A
// probe's are known of a whole plan alone.
uint16_t SmsOf(const Asked& q, Dispatcher dispatcher, bool crosses_domain) {
  if (!IsFlex(dispatcher)) return 0;
  const bool hybridep = dispatcher == Dispatcher::kHybridEp;
  for (const Knob knob : {K::moe_flex_dispatcher_num_sms, hybridep ? K::moe_hybridep_num_sms : K::moe_deepep_num_sms}) {
    const std::optional<Value> pin = PinOf(q.intent, knob);
    const int64_t given = pin.has_value() ? pin->integer() : 0;
    if (given > 0) return static_cast<uint16_t>(std::min(given, kMostSms));
  }
  if (q.base.dispatcher == dispatcher && q.f.ep_crosses_domain == crosses_domain) return q.base.num_sms;
  return static_cast<uint16_t>(decide::PublishedSms(hybridep, crosses_domain));
}

// Where it is open, the decisions hide part of an all-to-all behind the shared expert, and of nothing else.
SharedExpert SharedExpertOf(const Asked& q, Dispatcher dispatcher) {
  if (q.Pinned(K::moe_shared_expert_overlap)) {
    return q.base.shared_expert_overlap ? SharedExpert::kOverlapped : SharedExpert::kAlone;
  }
  const bool hides = dispatcher == Dispatcher::kAllToAll && q.Has(K::moe_shared_expert_overlap) &&
                     q.takes.shared_expert_overlap && decide::SharedExpertHidesAllToAll(q.f);
  return hides ? SharedExpert::kOverlappedUnlessRecomputed : SharedExpert::kAlone;
}

// One dispatcher, without and with EP overlap.
void AddExchanges(const Asked& q, Dispatcher dispatcher, int64_t max_span, std::vector<Exchange>* exchanges) {
  // The caller's delayed weight gradients are a part of it, and so its word for it.
  const std::optional<Value> wgrad = PinOf(q.intent, K::delay_wgrad_compute);
  const bool pinned =
      q.Pinned(K::overlap_moe_expert_parallel_comm) || (wgrad.has_value() && wgrad->truthy() && q.base.ep_overlap);
  const SharedExpert shared = SharedExpertOf(q, dispatcher);
  const uint16_t sms = SmsOf(q, dispatcher, false), network_sms = SmsOf(q, dispatcher, true);
  absl::Span<const int64_t> spans;
  if (dispatcher == Dispatcher::kDeepEp) {
    // Newer sizes are left to a caller who asks for one.
    const bool asked = q.Pinned(K::moe_token_dispatcher_type) && IsDeepepGroup(kDeepepGroups, q.f.ep * q.f.etp);
    spans = DeepepGroups(q.intent.env, /*unknown=*/asked);
    if (!DeepepLeavesNodes(q.f.node)) max_span = max_span > 0 ? std::min(max_span, q.f.node) : q.f.node;
  }
  if (!pinned || !q.base.ep_overlap) {
    exchanges->push_back({dispatcher, false, false, max_span, 0, shared, sms, network_sms, 0, spans});
  }
  const bool open = q.Has(K::overlap_moe_expert_parallel_comm) && q.f.moe && shared != SharedExpert::kOverlapped &&
                    decide::ObstacleToOverlap(q.intent, q.config).empty();
  if (pinned ? !q.base.ep_overlap : !open) return;
  // What delayed weight gradients add to the overlap is measured between nothing and a loss
  // (decide/expert_overlap.cc), so they are no way to win here.
  const bool delayed = q.base.ep_overlap && q.base.delay_wgrad;
  // Inside an NVLink domain the schedule was measured to cost more than the exchange that it hides, unless this GPU's
  // own measurements, or a profile of the run, say otherwise.
  const bool measured = q.intent.probe != nullptr || q.intent.profile.has_value();
  const int64_t min_span = pinned || measured ? 0 : q.f.domain + 1;
  const bool in_pipelines = q.shape.mtp_depths > 0 && decide::OverlapsPredictionInPipelinesAlone(q.intent.env);
  exchanges->push_back({dispatcher, true, delayed, max_span, min_span, SharedExpert::kAlone, sms, network_sms,
                        in_pipelines ? 2 : 0, spans});
}

// The caller asked for the flex dispatcher and named no backend, and both are installed.
bool BackendIsOpen(const Asked& q) {
  return q.config.Get(K::moe_token_dispatcher_type).text() == "flex" && q.Has(K::moe_flex_dispatcher_backend) &&
         !q.Pinned(K::moe_flex_dispatcher_backend) && q.f.deepep && q.f.hybridep;
}

std::vector<Exchange> ExchangesOf(const Asked& q) {
  std::vector<Exchange> exchanges;
  const bool pinned = q.Pinned(K::moe_token_dispatcher_type);
  if (!q.f.moe || (pinned && !BackendIsOpen(q))) {
    AddExchanges(q, q.base.dispatcher, 0, &exchanges);
    return exchanges;
  }
  if (!pinned) AddExchanges(q, Dispatcher::kAllToAll, 0, &exchanges);
  // A caller who asks gets it.
  const auto most = [&](bool fails) { return !pinned && fails ? q.f.domain : int64_t{0}; };
  if (q.f.deepep && decide::DeepepRuns(q.f, q.intent.gpu)) {
    AddExchanges(q, Dispatcher::kDeepEp, most(decide::DeepepFailsBetweenNodes(q.f)), &exchanges);
  }
  if (q.f.hybridep && decide::HybridepRuns(q.f, q.intent.gpu)) {
    AddExchanges(q, Dispatcher::kHybridEp, q.f.rack_scale ? q.f.domain : most(decide::HybridepFailsBetweenNodes(q.f)),
                 &exchanges);
  }
  return exchanges;
}

// Attention is left out of the graphs where EP overlap runs, unless the caller names it.
uint8_t NeverOverlapped(const Asked& q) {
  const bool named = q.Pinned(K::cuda_graph_modules) || q.Pinned(K::cuda_graph_scope);
  return q.f.moe && !named && decide::OverlapSpoilsAttentionGraph(q.f.precision) ? uint8_t{kGraphAttn} : uint8_t{0};
}

uint16_t NeverRecomputed(const Asked& q, uint8_t modules) {
  return static_cast<uint16_t>(decide::NeverRecomputedInGraphs(q.intent.env, modules));
}

Graphs OwnGraphs(const Asked& q) {
  Graphs own = {q.base.graphs, q.base.graph_modules};
  if (own.impl == GraphImpl::kTransformerEngine) own.never_recomputed = NeverRecomputed(q, own.modules);
  const uint8_t never = NeverOverlapped(q);
  if (own.impl != GraphImpl::kTransformerEngine || own.modules == 0 || never == 0) return own;
  if (q.base.ep_overlap && decide::AttentionGraphIsSmall(q.f)) own.modules |= never;
  own.never_overlapped = never;
  return own;
}

std::vector<Graphs> GraphsOf(const Asked& q) {
  if (q.Pinned(K::cuda_graph_impl) || q.f.bring_up) return {OwnGraphs(q)};
  std::vector<Graphs> graphs = {{}};
  if (!q.Has(K::cuda_graph_impl) || q.f.fsdp || !q.takes.graphs) return graphs;  // sharded parameters move
  if (StackOf(q.intent.env).packs || decide::GraphsOfCore15(q.intent.env)) return graphs;
  graphs.push_back({GraphImpl::kTransformerEngine, kGraphAttn});
  if (q.f.moe) {
    constexpr uint8_t kRouting = kGraphMoeRouter | kGraphMoePreprocess;
    graphs.push_back({GraphImpl::kTransformerEngine, kRouting});
    graphs.push_back({GraphImpl::kTransformerEngine, kRouting | kGraphAttn});
  }
  for (Graphs& some : graphs) {
    if (q.f.moe) some.never_overlapped = NeverOverlapped(q);
    some.never_recomputed = NeverRecomputed(q, some.modules);
  }
  return graphs;
}

// What LoongForge computes again within its overlap schedule, beside what costs next to nothing; and the same with the
// inputs that it starts from on the host.
void AddWithinOverlap(const Asked& q, unsigned never, std::vector<Recompute>* sets) {
  const bool tensors_open = TensorsAreOpen(q.intent, q.shape, q.config);
  unsigned modules = (kDropLayernorm | (q.shape.is_mla() ? unsigned{kDropMlaUpProj} : 0U)) & ~never;
  for (const DropStep& step : kWithinOverlapSteps) {
    modules = (modules | step.add) & ~step.contains;
    Recompute set = {RecomputeMode::kSelective, static_cast<uint16_t>(modules)};
    sets->push_back(set);
    if (!tensors_open) continue;
    set.offload_tensors = static_cast<uint16_t>(decide::InputsOfOverlapExperts(q.f));
    sets->push_back(set);
  }
}

// Megatron's own kernel or single operators: which of them is weighed. Transformer Engine's takes less memory and time
// than both, and LoongForge's, which forms the logits in chunks, is the caller's to ask for.
bool LossIsOpen(const Asked& q) {
  const std::optional<Value> kernel = PinOf(q.intent, K::cross_entropy_fusion_impl);
  return q.Has(K::cross_entropy_loss_fusion) && !q.Pinned(K::cross_entropy_loss_fusion) &&
         (!kernel.has_value() || kernel->text() == "native") && !q.config.Get(K::deterministic_mode).truthy() &&
         (q.base.loss == LossKind::kNativeFused || q.base.loss == LossKind::kUnfused);
}

std::vector<Recompute> RecomputesOf(const Asked& q) {
  std::vector<Recompute> sets = RecomputeSets(q.shape);
  const unsigned moved = decide::MovedToHost(q.config);
  const unsigned never = decide::NeverRecomputedInFp8(q.config, q.intent.env) |
                         (q.takes.layernorm_recompute ? 0U : unsigned{kDropLayernorm}) |
                         decide::NeverRecomputedBesideMoved(moved);
  std::erase_if(sets, [never, moved](const Recompute& set) {
    return (set.modules & never) != 0 || (moved != 0 && set.mode == RecomputeMode::kFullUniform);
  });
  if (q.Pinned(K::recompute_granularity)) {
    // Who says "selective" alone leaves open what is computed again.
    const bool modules_open = q.base.recompute == RecomputeMode::kSelective && !q.Pinned(K::recompute_modules);
    const auto other = [&](const Recompute& set) { return !modules_open || set.mode != RecomputeMode::kSelective; };
    sets.erase(std::remove_if(sets.begin(), sets.end(), other), sets.end());
    sets.push_back({q.base.recompute, q.base.recompute_modules});
  } else if (decide::UpProjectionIsHabit(q.intent, q.base)) {
    for (Recompute& set : sets) {
      const bool full = set.mode == RecomputeMode::kFullUniform;
      if (!full && (set.modules & kDropMlaUpProj) == 0) set.max_pp = 1;
    }
  }
  if (WithinOverlapIsOpen(q.intent, q.shape, q.config)) AddWithinOverlap(q, never, &sets);
  // The decisions' own way, which may be another set.
  if (!q.Pinned(K::recompute_granularity) && (q.base.recompute_modules & kDropWithinOverlap) != 0) {
    sets.push_back(RecomputeOf(q.base, OffloadBeside(q.intent, q.shape, q.config, q.base)));
  }
  if (!LayersAreOpen(q.intent, q.shape, q.config, q.base)) return sets;
  for (int eighths = 1; eighths < 8; ++eighths) {
    sets.push_back({RecomputeMode::kNone, 0, static_cast<int32_t>(q.shape.num_layers * eighths / 8)});
  }
  return sets;
}

// Every set with the faster loss, then every set with the other.
void OpenLoss(std::vector<Recompute>* sets) {
  std::vector<Recompute> unfused = *sets;
  for (Recompute& set : *sets) set.loss = LossKind::kNativeFused;
  for (Recompute& set : unfused) set.loss = LossKind::kUnfused;
  sets->insert(sets->end(), unfused.begin(), unfused.end());
}

std::vector<float> OptimizerOffloadsOf(const Asked& q, bool dear) {
  if (q.Pinned(K::optimizer_cpu_offload)) {
    // Who asks for it alone leaves open how much of it.
    const bool share_is_open = q.base.optimizer_offload > 0 && !q.Pinned(K::optimizer_offload_fraction);
    return share_is_open ? std::vector<float>{0.25F, 0.5F, 0.75F, 1.0F} : std::vector<float>{q.base.optimizer_offload};
  }
  std::vector<float> offloads = {0};
  if (q.f.fsdp || !q.Has(K::optimizer_cpu_offload)) return offloads;  // field.fsdp-optimizer-offload
  // It goes with the precision-aware optimizer, which needs that one up to 0.19.
  if (!q.config.Get(K::use_distributed_optimizer).truthy() && q.intent.env.core_release <= 19) return offloads;
  const std::optional<Value> share = PinOf(q.intent, K::optimizer_offload_fraction);
  if (share.has_value()) {  // how much of it, where any is
    if (share->is_number() && share->real() > 0) offloads.push_back(static_cast<float>(share->real()));
    return offloads;
  }
  if (q.intent.gpu.host_link_bytes_per_second.value_or(0) >= kFastHostLink) offloads.push_back(1);
  if (!dear) return offloads;
  for (const float fraction : {0.25F, 0.5F, 0.75F, 1.0F}) {
    if (std::find(offloads.begin(), offloads.end(), fraction) == offloads.end()) offloads.push_back(fraction);
  }
  return offloads;
}

// Of the model's sizes and of its stages nothing is asked.
Asked AskedOf(const NormalizedIntent& intent, const ModelShape& shape, const Config& config, const Candidate& base) {
  return {intent,
          shape,
          config,
          base,
          decide::ExtractFeatures(intent, std::nullopt, config),
          LimitsOfProvider(config, intent.env)};
}

}  // namespace

Graphs OwnGraphs(const NormalizedIntent& intent, const ModelShape& shape, const Config& config, const Candidate& base) {
  return OwnGraphs(AskedOf(intent, shape, config, base));
}

bool PaysDearlyForRoom(const Candidate& c) {
  const bool full = c.recompute == RecomputeMode::kFullUniform || c.recompute == RecomputeMode::kFullBlock;
  return c.optimizer_offload > 0 || full || (c.recompute_modules & kDropMoe) != 0;
}

GivenOffload OffloadBeside(const NormalizedIntent& intent, const ModelShape& shape, const Config& config,
                           const Candidate& base) {
  GivenOffload given = GivenOffloadOf(base);
  if (LayersAreOpen(intent, shape, config, base)) given.layers = 0;
  if (TensorsAreOpen(intent, shape, config)) given.modules = 0;
  return given;
}

Recompute RecomputeOf(const Candidate& c, const GivenOffload& given) {
  const int32_t layers = given.layers > 0 ? 0 : c.offload_layers;
  return {c.recompute, c.recompute_modules, layers, 0, static_cast<uint16_t>(c.offload_modules & ~given.modules),
          c.loss};
}

bool LossIsOpen(const NormalizedIntent& intent, const ModelShape& shape, const Config& config, const Candidate& base) {
  return LossIsOpen(AskedOf(intent, shape, config, base));
}

LossKind LeastLoss(const NormalizedIntent& intent, const ModelShape& shape, const Config& config,
                   const Candidate& base) {
  return LossIsOpen(intent, shape, config, base) ? LossKind::kUnfused : base.loss;
}

ExecutionSpace ExecutionsOf(const NormalizedIntent& intent, const ModelShape& shape, const Config& config,
                            const Candidate& base, bool dear) {
  const Asked q = AskedOf(intent, shape, config, base);
  ExecutionSpace space;
  space.exchanges = ExchangesOf(q);
  space.graphs = GraphsOf(q);
  space.recomputes = RecomputesOf(q);
  if (LossIsOpen(q)) OpenLoss(&space.recomputes);
  space.optimizer_offloads = OptimizerOffloadsOf(q, dear);
  if (space.optimizer_offloads.size() > 1) {
    space.on_gpu = StateWith(false, intent, shape, config, base);
    space.on_host = StateWith(true, intent, shape, config, base);
  }
  return space;
}

}  // namespace flightplan
