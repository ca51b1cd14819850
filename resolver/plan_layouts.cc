// PlanLayouts, and the layout of a question that leaves it open: the planner's search over candidates, then the best of
// them through the whole pipeline. A plan that is returned is what ResolveConfig says about its layout, to the byte.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/finding.pb.h"
#include "flightplan/v1/parallelism.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/attach_probe.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/derive/model_knobs.h"
#include "resolver/derive/pipeline.h"
#include "resolver/derive/start_config.h"
#include "resolver/estimate/estimate.h"
#include "resolver/estimate/probe_outlook.h"
#include "resolver/normalize/request.h"
#include "resolver/planner/search.h"
#include "resolver/resolver.h"
#include "resolver/rules/decide/decide.h"
#include "resolver/rules/decide/features.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr int kDefaultPlans = 10;
constexpr int kMaxPlans = 100;
// Layouts that the forecast ranks for each plan that is asked for: the decisions may settle one otherwise than the
// search would, and the rules of the release may refuse it.
constexpr size_t kPoolFactor = 4;
constexpr size_t kLeastPool = 24;
// A host link as fast as this (NVLink-C2C) can take the optimizer's state without losing more than it saves.
constexpr double kFastHostLink = 2e11;

// ---- the question

std::optional<Value> PinOf(const NormalizedIntent& intent, Knob knob) {
  for (const auto& [pin, value] : intent.pins) {
    if (pin == knob) return value;
  }
  return std::nullopt;
}

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

// Everything that a search points at.
struct Searching {
  NormalizedIntent intent;
  ModelShape shape;
  ModelWork work;
  std::array<Candidate, 16> bases;
  std::map<std::pair<int, int>, std::unique_ptr<StageLayout>> stages;
  Config config;           // with the plainest layout
  bool own_split = false;  // the caller says how the layers are split
  SearchQuestion question;
};

size_t BaseIndex(const LayoutSizes& sizes) {
  return (sizes.tp > 1 ? 1u : 0u) | (sizes.pp > 1 ? 2u : 0u) | (sizes.cp > 1 ? 4u : 0u) | (sizes.ep > 1 ? 8u : 0u);
}

// The decisions for one of the sixteen corners: what they settle beside the sizes depends on which groups there are.
void DecideBases(Searching* s) {
  static const StageLayout* const kFlat = new StageLayout(MakeStageLayout(1, 1, {ChunkContents{}}));
  for (size_t i = 0; i < s->bases.size(); ++i) {
    NormalizedIntent corner = s->intent;
    corner.layout.tensor_model_parallel_size = (i & 1u) != 0 ? 2 : 1;
    corner.layout.pipeline_model_parallel_size = (i & 2u) != 0 ? 2 : 1;
    corner.layout.context_parallel_size = (i & 4u) != 0 ? 2 : 1;
    if (corner.model.is_moe()) corner.layout.expert_model_parallel_size = (i & 8u) != 0 ? 8 : 1;
    corner.layout.expert_tensor_parallel_size = 1;
    corner.layout.pipeline_model_parallel_layout.reset();
    DecidedPlan decided = Decide(corner, {StartConfig(corner), s->shape});
    Environment env = corner.env;
    env.vars = decided.env;
    s->bases[i] = CandidateOf(decided.config, env, s->shape, *kFlat);
    if (i == 0) s->config = std::move(decided.config);
  }
}

const StageLayout* StagesFor(Searching* s, int pp, int vpp) {
  auto& slot = s->stages[{pp, vpp}];
  if (slot != nullptr) return slot.get();
  const int64_t count = int64_t{pp} * vpp;
  if (s->own_split) {
    Config config = s->config;
    config.Set(K::pipeline_model_parallel_size, Value(pp), Origin::kCaller);
    config.Set(K::virtual_pipeline_model_parallel_size, vpp > 1 ? Value(vpp) : Value(), Origin::kCaller);
    slot = std::make_unique<StageLayout>(StagesOf(s->shape, config));
  } else if (s->shape.num_layers % count == 0) {
    const std::vector<int64_t> even(static_cast<size_t>(count), s->shape.num_layers / count);
    slot = std::make_unique<StageLayout>(StagesOfSizes(s->shape, pp, vpp, even));
  } else {
    slot = std::make_unique<StageLayout>(
        StagesOfSizes(s->shape, pp, vpp, BalancedStages(s->shape.num_layers, s->shape.mtp_depths, count)));
  }
  return slot.get();
}

// Ways of execution that the release, the GPU and the installed libraries leave, and the caller's pins.
ExecutionSpace ExecutionsOf(const Searching& s) {
  const NormalizedIntent& intent = s.intent;
  const Candidate& base = s.bases.front();
  const decide::Features f = decide::ExtractFeatures(intent, s.shape, s.config);
  ExecutionSpace space;

  const bool overlap_known = s.config.origin(K::overlap_moe_expert_parallel_comm) != Origin::kAbsent && f.moe;
  const bool overlap_pinned = PinOf(intent, K::overlap_moe_expert_parallel_comm).has_value();
  const auto add = [&](Dispatcher dispatcher, int64_t max_span) {
    const bool may_not = overlap_pinned ? !base.ep_overlap : true;
    const bool may = overlap_pinned ? base.ep_overlap : overlap_known && !base.shared_expert_overlap;
    if (may_not) space.exchanges.push_back({dispatcher, false, false, max_span});
    if (may && !PinOf(intent, K::delay_wgrad_compute).has_value()) {
      space.exchanges.push_back({dispatcher, true, false, max_span});
      space.exchanges.push_back({dispatcher, true, true, max_span});
    } else if (may) {
      space.exchanges.push_back({dispatcher, true, base.delay_wgrad, max_span});
    }
  };
  if (PinOf(intent, K::moe_token_dispatcher_type).has_value() || !f.moe) {
    add(base.dispatcher, 0);
  } else {
    add(Dispatcher::kAllToAll, 0);
    const int cc = intent.gpu.cc_major;
    if (f.deepep && f.domain > 1 && !f.rack_scale && (cc == 8 || cc == 9 || HasFlexBackend(intent.gpu, "deepep"))) {
      add(Dispatcher::kDeepEp, 0);
    }
    if (f.hybridep && f.domain > 1 && (cc == 0 || (cc >= 8 && cc <= 10))) {
      add(Dispatcher::kHybridEp, f.rack_scale ? f.domain : 0);
    }
  }

  space.graphs = {{}};
  if (PinOf(intent, K::cuda_graph_impl).has_value() || f.bring_up) {
    space.graphs = {{base.graphs, base.graph_modules}};
  } else if (s.config.origin(K::cuda_graph_impl) != Origin::kAbsent) {
    const auto routing = static_cast<uint8_t>(f.moe ? kGraphMoeRouter | kGraphMoePreprocess : 0);
    space.graphs.push_back({GraphImpl::kTransformerEngine, kGraphAttn});
    if (routing != 0) {
      space.graphs.push_back({GraphImpl::kTransformerEngine, routing});
      space.graphs.push_back({GraphImpl::kTransformerEngine, static_cast<uint8_t>(routing | kGraphAttn)});
    }
  }

  space.recomputes = RecomputeSets(s.shape);
  if (PinOf(intent, K::recompute_granularity).has_value()) {
    space.recomputes = {{base.recompute, base.recompute_modules}};
  }
  space.optimizer_offloads = {0};
  if (PinOf(intent, K::optimizer_cpu_offload).has_value()) {
    space.optimizer_offloads = {base.optimizer_offload};
  } else if (intent.gpu.host_link_bytes_per_second.value_or(0) >= kFastHostLink) {
    space.optimizer_offloads = {0, 1};
  }
  return space;
}

// INVALID_ARGUMENT when the model cannot be counted.
absl::Status Prepare(NormalizedIntent intent, Searching* s) {
  s->intent = std::move(intent);
  FLIGHTPLAN_ASSIGN_OR_RETURN(s->shape, MakeShape(s->intent.model, StartConfig(s->intent)));
  s->work = WorkOf(s->shape);
  DecideBases(s);
  for (Knob knob : {K::num_layers_in_first_pipeline_stage, K::num_layers_in_last_pipeline_stage,
                    K::account_for_embedding_in_pipeline_split, K::account_for_loss_in_pipeline_split,
                    K::num_layers_per_virtual_pipeline_stage}) {
    s->own_split |= PinOf(s->intent, knob).has_value();
  }
  SearchQuestion& q = s->question;
  q.shape = &s->shape;
  q.work = &s->work;
  q.rates = RatesOf(s->intent.gpu);
  if (s->intent.probe != nullptr) q.rates = WithProbe(q.rates, *s->intent.probe);
  q.memory = MemoryOf(s->intent.gpu);
  q.layout.gpus = s->intent.gpu_count;
  q.layout.global_batch_size = s->intent.workload.global_batch_size;
  q.layout.seq_length = s->intent.workload.seq_length;
  q.layout.wish = WishOf(s->intent);
  q.layout.sequence_parallel = s->intent.layout.sequence_parallel.value_or(true);
  q.layout.even_stages = s->own_split || s->intent.model.hybrid_layer_pattern.has_value();
  const std::optional<Value> pinned = PinOf(s->intent, K::pipeline_model_parallel_layout);
  const std::string text =
      s->intent.layout.pipeline_model_parallel_layout.value_or(pinned.has_value() ? pinned->ToText() : std::string());
  if (!text.empty()) {
    q.layout.layout_stages = LayoutStages(text).value_or(0);
    s->own_split = true;
    s->config.Set(K::pipeline_model_parallel_layout, Value(text), Origin::kCaller);
  }
  q.execution = ExecutionsOf(*s);
  q.base = [s](const LayoutSizes& sizes) { return s->bases[BaseIndex(sizes)]; };
  q.stages = [s](int pp, int vpp) { return StagesFor(s, pp, vpp); };
  return absl::OkStatus();
}

// ---- the answer

v1::Layout* Write(const LayoutSizes& sizes, bool moe, v1::Layout* layout) {
  layout->set_tensor_model_parallel_size(sizes.tp);
  layout->set_pipeline_model_parallel_size(sizes.pp);
  layout->set_virtual_pipeline_model_parallel_size(sizes.vpp);
  layout->set_context_parallel_size(sizes.cp);
  layout->set_micro_batch_size(static_cast<int32_t>(std::min<int64_t>(sizes.micro_batch_size, INT32_MAX)));
  if (moe) {
    layout->set_expert_model_parallel_size(sizes.ep);
    layout->set_expert_tensor_parallel_size(sizes.etp);
  }
  return layout;
}

void AddFinding(absl::string_view id, v1::Severity severity, std::string seen, std::string needs,
                v1::PlanResult* result) {
  v1::Finding* finding = result->add_findings();
  finding->set_rule_id(std::string(id));
  finding->set_area("plan");
  finding->set_severity(severity);
  finding->set_verdict(v1::VERDICT_KIND_WILL_RUN);
  finding->set_stage("plan");
  finding->set_seen(std::move(seen));
  finding->set_needs(std::move(needs));
  finding->mutable_source()->set_text("resolver/planner");
}

double MemoryOfAnswer(const v1::ResolveConfigResponse& answer) {
  double most = 0;
  for (const v1::StageMemory& stage : answer.estimate().stages()) most = std::max(most, stage.total_bytes().value());
  return most;
}

// Fits before marginal before unknown; what certainly does not fit is no plan.
bool Launchable(const v1::ResolveConfigResponse& answer) {
  return answer.outcome() == v1::OUTCOME_RESOLVED && answer.estimate().fit() != v1::FIT_VERDICT_DOES_NOT_FIT;
}

}  // namespace

absl::Status Resolver::PlanLayouts(const v1::PlanLayoutsRequest& request, const PlanHooks& hooks,
                                   v1::PlanResult* result) const {
  if (request.has_plan_count() && (request.plan_count() < 1 || request.plan_count() > kMaxPlans)) {
    Violations violations;
    violations.Add("plan_count", absl::StrCat("must be 1..", kMaxPlans, ", not ", request.plan_count()));
    return violations.ToStatus();
  }
  const size_t wanted = static_cast<size_t>(request.has_plan_count() ? request.plan_count() : kDefaultPlans);
  FLIGHTPLAN_ASSIGN_OR_RETURN(NormalizedIntent intent, NormalizeResolve(request.base(), *catalog_));
  FLIGHTPLAN_RETURN_IF_ERROR(AttachProbe(request.base(), profiles_.get(), &intent));
  // The fewest GPUs: more of them until something fits.
  std::vector<int64_t> counts = {intent.gpu_count};
  if (request.objective() == v1::PLAN_OBJECTIVE_GPU_COUNT) {
    counts.clear();
    for (int64_t n = 1; n < intent.gpu_count; n *= 2) counts.push_back(n);
    counts.push_back(intent.gpu_count);
  }
  const bool by_memory = request.objective() == v1::PLAN_OBJECTIVE_MEMORY_HEADROOM;
  SearchStatistics total;
  int64_t refused = 0;
  for (int64_t count : counts) {
    NormalizedIntent at = intent;
    at.gpu_count = count;
    at.env.world_size = count;
    Searching searching;
    FLIGHTPLAN_RETURN_IF_ERROR(Prepare(std::move(at), &searching));
    SearchQuestion& question = searching.question;
    if (!question.rates.known) {
      AddFinding("plan.no-rates", v1::SEVERITY_ERROR, absl::StrCat("hardware.gpu=", intent.gpu.name),
                 "a GPU whose peak rates are published, or given in an overlay of the catalogue", result);
      return absl::OkStatus();
    }
    question.objective = by_memory ? SearchObjective::kMemoryHeadroom : SearchObjective::kStepTime;
    question.keep = std::max(kLeastPool, wanted * kPoolFactor);
    if (hooks.parallel != nullptr) question.parallel = hooks.parallel;
    if (hooks.progress != nullptr) {
      question.progress = [&](const SearchProgress& progress) {
        return hooks.progress({progress.done_ratio, total.judged + progress.judged, progress.best_us});
      };
    }
    const SearchResult found = Search(question);
    const SearchStatistics& s = found.statistics;
    total.space += s.space;
    total.judged += s.judged;
    total.layouts += s.layouts;
    total.memory_bound += s.memory_bound;
    total.time_bound += s.time_bound;
    total.incompatible += s.incompatible;
    total.cut |= s.cut;
    total.stopped |= s.stopped;
    std::vector<v1::ResolveConfigResponse> plans;
    for (const FoundPlan& plan : found.plans) {
      v1::ResolveConfigRequest resolve = request.base();
      resolve.mutable_hardware()->set_gpu_count(static_cast<int32_t>(count));
      Write(plan.sizes, searching.shape.is_moe(), resolve.mutable_layout());
      v1::ResolveConfigResponse answer;
      FLIGHTPLAN_RETURN_IF_ERROR(ResolveConfig(resolve, &answer));
      if (Launchable(answer)) {
        plans.push_back(std::move(answer));
      } else {
        ++refused;
      }
    }
    std::stable_sort(plans.begin(), plans.end(), [&](const auto& a, const auto& b) {
      return by_memory ? MemoryOfAnswer(a) < MemoryOfAnswer(b)
                       : a.estimate().step_time_us().value() < b.estimate().step_time_us().value();
    });
    plans.resize(std::min(plans.size(), wanted));
    for (v1::ResolveConfigResponse& plan : plans) *result->add_plans() = std::move(plan);
    if (result->plans_size() > 0 || total.stopped) break;
  }
  result->set_space_count(total.space);
  result->set_judged_count(total.judged);
  (*result->mutable_pruned_counts())["memory_bound"] = total.memory_bound;
  (*result->mutable_pruned_counts())["time_bound"] = total.time_bound;
  (*result->mutable_pruned_counts())["incompatible"] = total.incompatible;
  (*result->mutable_pruned_counts())["refused_by_rules"] = refused;
  if (total.cut) {
    AddFinding("plan.space-cut", v1::SEVERITY_WARNING, absl::StrCat("more than ", kMaxLayouts, " promising layouts"),
               "give some sizes of the layout; the rest of the space was not searched", result);
  }
  if (total.stopped) {
    AddFinding("plan.search-stopped", v1::SEVERITY_WARNING, "the search was stopped before its end",
               "more time, or some sizes of the layout; better plans may exist", result);
  }
  if (result->plans_size() == 0 && !total.stopped) {
    const bool illegal = total.layouts == 0;
    AddFinding(illegal ? "plan.no-legal-layout" : "plan.nothing-fits", v1::SEVERITY_ERROR,
               illegal ? absl::StrCat("no sizes divide ", intent.gpu_count, " GPUs and a global batch of ",
                                      intent.workload.global_batch_size)
                       : absl::StrCat(total.layouts, " legal layouts on ", intent.gpu_count,
                                      " GPUs, none of which fits ", "and is accepted"),
               illegal ? "a GPU count and a batch with common divisors; fewer given sizes"
                       : "more GPUs, a larger memory, a shorter sequence, or fewer given sizes",
               result);
  }
  return absl::OkStatus();
}

}  // namespace flightplan
