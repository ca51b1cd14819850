#include "resolver/layouts/layout_search.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "resolver/base/status_macros.h"
#include "resolver/base/work.h"
#include "resolver/derive/bridge_provider.h"
#include "resolver/derive/context_exchange.h"
#include "resolver/derive/model_knobs.h"
#include "resolver/derive/pipeline.h"
#include "resolver/derive/start_config.h"
#include "resolver/derive/steady_passes.h"
#include "resolver/estimate/estimate.h"
#include "resolver/estimate/probe_outlook.h"
#include "resolver/layouts/execution_space.h"
#include "resolver/layouts/plan_cautions.h"
#include "resolver/layouts/weigh_splits.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/decide.h"
#include "resolver/rules/decide/features.h"
#include "resolver/rules/prediction_stages.h"

namespace flightplan {

namespace {

using K = Knob;

// Of giving it its layers and finding out which ranks differ, in units of base/work.h.
constexpr size_t kWorkOfChunk = 12;

int64_t SizeOf(const NormalizedIntent& intent, const std::optional<int64_t>& wish, Knob knob) {
  if (wish.has_value()) return *wish;
  const std::optional<Value> pin = PinOf(intent, knob);
  return pin.has_value() ? pin->integer() : 0;
}

LayoutSizes WishOf(const NormalizedIntent& intent) {
  const LayoutWish& w = intent.layout;
  const auto size = [&](const std::optional<int64_t>& wish, Knob knob) {
    return static_cast<int32_t>(SizeOf(intent, wish, knob));
  };
  LayoutSizes wish{size(w.tensor_model_parallel_size, K::tensor_model_parallel_size),
                   size(w.pipeline_model_parallel_size, K::pipeline_model_parallel_size),
                   size(w.virtual_pipeline_model_parallel_size, K::virtual_pipeline_model_parallel_size),
                   size(w.context_parallel_size, K::context_parallel_size),
                   size(w.expert_model_parallel_size, K::expert_model_parallel_size),
                   size(w.expert_tensor_parallel_size, K::expert_tensor_parallel_size),
                   SizeOf(intent, w.micro_batch_size, K::micro_batch_size)};
  if (!intent.model.is_moe()) wish.ep = wish.etp = 0;  // nothing to choose
  return wish;
}

// Which corner stands for these sizes: what is given is the same in all of them.
size_t BaseIndex(const LayoutSizes& wish, const LayoutSizes& sizes) {
  const auto bit = [](int32_t given, int32_t size, size_t mask) { return given == 0 && size > 1 ? mask : 0; };
  const size_t experts = wish.ep > 0 || sizes.ep <= 1 ? 0 : sizes.ep < kUnevenExpertRanks ? 1 : 2;
  return bit(wish.tp, sizes.tp, 1) | bit(wish.pp, sizes.pp, 2) | bit(wish.cp, sizes.cp, 4) | experts * 8;
}

// The sizes of a corner, where they are open.
LayoutSizes CornerAt(size_t index) {
  const auto size = [&](size_t mask) { return (index & mask) != 0 ? 2 : 1; };
  constexpr int32_t kExperts[] = {1, 2, kUnevenExpertRanks};
  return {size(1), size(2), 0, size(4), kExperts[index / 8], 1, 0};
}

// The decisions for each corner: what they settle beside the sizes depends on which groups there are.
void DecideBases(LayoutSearch* s) {
  static const StageLayout* const kFlat = new StageLayout(MakeStageLayout(1, 1, {ChunkContents{}}));
  const LayoutSizes& wish = s->given;
  const bool moe = s->intent.model.is_moe();
  for (size_t i = 0; i < s->bases.size(); ++i) {
    const LayoutSizes corner = CornerAt(i);
    if (BaseIndex(wish, corner) != i || (!moe && corner.ep > 1)) continue;  // no layout of the search
    const auto size = [](int32_t given, int32_t open) { return given > 0 ? given : open; };
    NormalizedIntent intent = s->intent;
    intent.layout.tensor_model_parallel_size = size(wish.tp, corner.tp);
    intent.layout.pipeline_model_parallel_size = size(wish.pp, corner.pp);
    intent.layout.context_parallel_size = size(wish.cp, corner.cp);
    if (moe) intent.layout.expert_model_parallel_size = size(wish.ep, corner.ep);
    intent.layout.expert_tensor_parallel_size = size(wish.etp, corner.etp);
    intent.layout.pipeline_model_parallel_layout.reset();
    DecidedPlan decided = Decide(intent, {StartConfig(intent), s->shape});
    Environment env = intent.env;
    env.vars = decided.env;
    s->bases[i] = CandidateOf(decided.config, env, s->shape, *kFlat);
    if (i == 0) s->config = std::move(decided.config);
  }
}

std::vector<std::shared_ptr<const StageLayout>> StagesFor(const LayoutSearch& s, int pp, int vpp) {
  std::vector<std::shared_ptr<const StageLayout>> splits;
  const auto add = [&](StageLayout stages) {
    Work::Spend(kWorkOfChunk * stages.chunks.size());
    KeepSteadyPasses(&stages);
    splits.push_back(std::make_shared<const StageLayout>(std::move(stages)));
  };
  if (s.own_split) {
    Config config = s.config;
    config.Set(K::pipeline_model_parallel_size, Value(pp), Origin::kCaller);
    config.Set(K::virtual_pipeline_model_parallel_size, vpp > 1 ? Value(vpp) : Value(), Origin::kCaller);
    add(StagesOf(s.shape, config));
    return splits;
  }
  const bool may_split = MaySplit(s.intent, s.config);
  const double tail = TailLayers(s.work);
  for (const std::vector<int64_t>& sizes : StageSplits(s.shape.num_layers, s.shape.mtp_depths, pp, vpp, tail)) {
    if (!splits.empty() && sizes.front() < s.question.layout.first_stage_layers) continue;
    add(StagesOfSizes(s.shape, pp, vpp, WithDecoderBesidePrediction(sizes, s.shape.mtp_depths, StackOf(s.intent.env))));
    if (!may_split) break;
  }
  return splits;
}

}  // namespace

absl::Status PrepareSearch(NormalizedIntent intent, LayoutSearch* s) {
  s->intent = std::move(intent);
  FLIGHTPLAN_ASSIGN_OR_RETURN(s->shape, MakeShape(s->intent.model, StartConfig(s->intent), s->intent.shape.get()));
  s->work = WorkOf(s->shape);
  s->given = s->question.layout.wish = WishOf(s->intent);
  DecideBases(s);
  for (Candidate& base : s->bases) {
    const GivenOffload given = OffloadBeside(s->intent, s->shape, s->config, base);
    base.offload_layers = given.layers;
    base.offload_modules = given.modules;
  }
  s->own_split = SplitIsGiven(s->intent);
  SearchQuestion& q = s->question;
  q.shape = &s->shape;
  q.work = &s->work;
  q.rates = RatesFor(s->intent);
  q.memory = MemoryOf(s->intent.gpu);
  q.caution = CautionContextOf(s->intent);
  q.layout.gpus = s->intent.gpu_count;
  q.layout.global_batch_size = s->intent.workload.global_batch_size;
  q.layout.seq_length = s->intent.workload.seq_length;
  q.layout.sequence_parallel = s->intent.layout.sequence_parallel.value_or(true);
  q.layout.first_stage_layers = LeastInFirstStage(s->config, s->intent.env);
  const bool hybrid = s->intent.model.hybrid_layer_pattern.has_value();
  q.layout.even_stages = s->own_split || hybrid;
  q.layout.experts_as_dense = s->given.etp == 0 && decide::SplitsExpertsAsDense(s->intent.env);
  // Virtual stages of a hybrid pattern are its own bars, and no knob's.
  const ProviderLimits takes = LimitsOfProvider(s->config, s->intent.env);
  if ((hybrid || !takes.virtual_stages) && q.layout.wish.vpp == 0) q.layout.wish.vpp = 1;
  if (!takes.context_parallel && q.layout.wish.cp == 0) q.layout.wish.cp = 1;
  const std::optional<Value> pinned = PinOf(s->intent, K::pipeline_model_parallel_layout);
  const std::string text =
      s->intent.layout.pipeline_model_parallel_layout.value_or(pinned.has_value() ? pinned->ToText() : std::string());
  if (!text.empty()) {
    q.layout.layout_stages = LayoutStages(text).value_or(0);
    s->config.Set(K::pipeline_model_parallel_layout, Value(text), Origin::kCaller);
  }
  // A word may leave full recompute out, so that the base, whose sizes are 1, pays nothing for what has no room at all.
  const std::optional<Value> overlap = PinOf(s->intent, K::overlap_moe_expert_parallel_comm);
  const bool dear = PaysDearlyForRoom(s->bases.front()) || (overlap.has_value() && overlap->truthy()) ||
                    PinOf(s->intent, K::recompute_granularity).has_value();
  q.execution = ExecutionsOf(s->intent, s->shape, s->config, s->bases.front(), dear);
  const decide::Features features = decide::ExtractFeatures(s->intent, std::nullopt, s->config);
  // Where the decisions leave graphs of a pipeline to an A/B, they are no reason to choose one.
  if (decide::LeavesGraphsOfPipelines(features, s->intent) && !s->intent.profile.has_value() &&
      !PinOf(s->intent, K::cuda_graph_impl).has_value()) {
    for (Graphs& graphs : q.execution.graphs) graphs.max_pp = graphs.impl == GraphImpl::kNone ? 0 : 1;
  }
  const int64_t domain = features.domain;
  const bool cp_comm_is_open = !PinOf(s->intent, K::cp_comm_type).has_value() && !StackOf(s->intent.env).fork;
  q.base = [s, domain, cp_comm_is_open](const LayoutSizes& sizes) {
    Candidate base = s->bases[BaseIndex(s->given, sizes)];
    if (sizes.cp > 1 && cp_comm_is_open) {
      const ContextExchange exchange =
          ContextExchangeOf(s->shape, sizes.tp, sizes.cp, s->question.layout.seq_length, domain);
      base.cp_comm = exchange.type;
      base.cp_inside = exchange.type == CpComm::kAllToAllP2p ? static_cast<uint16_t>(exchange.inside) : 0;
    }
    return base;
  };
  q.stages = [s](int pp, int vpp) { return StagesFor(*s, pp, vpp); };
  return absl::OkStatus();
}

}  // namespace flightplan
