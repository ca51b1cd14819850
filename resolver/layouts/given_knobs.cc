#include "resolver/layouts/given_knobs.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/base/bytes.h"
#include "resolver/derive/module_names.h"
#include "resolver/layouts/execute_layout.h"
#include "resolver/layouts/execution_space.h"
#include "resolver/pipeline/resolve.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr std::pair<unsigned, const char*> kGraphModules[] = {{kGraphAttn, "attn"},
                                                              {kGraphMlp, "mlp"},
                                                              {kGraphMoe, "moe"},
                                                              {kGraphMoeRouter, "moe_router"},
                                                              {kGraphMoePreprocess, "moe_preprocess"},
                                                              {kGraphMamba, "mamba"}};

template <size_t n>
Value Names(unsigned bits, const std::pair<unsigned, const char*> (&names)[n]) {
  Value::List list;
  for (const auto& [bit, name] : names) {
    if ((bits & bit) != 0) list.emplace_back(name);
  }
  return Value(std::move(list));
}

// Collects knobs that are open.
class Giver {
 public:
  Giver(const Config& config, const NormalizedIntent& intent) : config_(config), intent_(intent) {}
  bool known(Knob knob) const { return config_.origin(knob) != Origin::kAbsent; }
  bool open(Knob knob) const {
    return known(knob) && !PinOf(intent_, knob).has_value() && !LeavesOff(StackOf(intent_.env), knob);
  }
  void Give(Knob knob, Value value) { knobs_.emplace_back(knob, std::move(value)); }
  GivenKnobs Take() { return std::move(knobs_); }

 private:
  const Config& config_;
  const NormalizedIntent& intent_;
  GivenKnobs knobs_;
};

void GiveDispatcher(const Candidate& c, Giver* to) {
  const bool flex = c.dispatcher == Dispatcher::kDeepEp || c.dispatcher == Dispatcher::kHybridEp;
  if (to->open(K::moe_token_dispatcher_type)) {
    to->Give(K::moe_token_dispatcher_type, flex ? Value("flex") : Value("alltoall"));
  } else if (!to->known(K::moe_token_dispatcher_type)) {
    return;
  }
  if (flex && to->open(K::moe_flex_dispatcher_backend)) {
    to->Give(K::moe_flex_dispatcher_backend, c.dispatcher == Dispatcher::kDeepEp ? Value("deepep") : Value("hybridep"));
  } else if (flex && !to->known(K::moe_flex_dispatcher_backend) && to->open(K::moe_enable_deepep)) {
    to->Give(K::moe_enable_deepep, Value(true));
  }
}

void GiveExchange(const Candidate& c, Giver* to) {
  GiveDispatcher(c, to);
  if (to->open(K::overlap_moe_expert_parallel_comm)) to->Give(K::overlap_moe_expert_parallel_comm, Value(c.ep_overlap));
}

void GiveGraphs(const Candidate& c, Giver* to) {
  const bool open = to->open(K::cuda_graph_impl);
  if (open && c.graphs == GraphImpl::kNone) return to->Give(K::cuda_graph_impl, Value("none"));
  if (c.graphs != GraphImpl::kTransformerEngine) return;
  if (open) to->Give(K::cuda_graph_impl, Value("transformer_engine"));
  const Knob modules = to->known(K::cuda_graph_modules) ? K::cuda_graph_modules : K::cuda_graph_scope;
  if (to->open(modules)) to->Give(modules, Names(c.graph_modules, kGraphModules));
}

// What is computed again within LoongForge's overlap starts from inputs that may wait on the host: decided with the
// modules (decide/recompute.cc), so that modules that are given come with them.
void GiveTensors(const Candidate& c, Giver* to) {
  const Value tensors = OffloadTensorsOf(c.offload_modules);
  if ((c.recompute_modules & kDropOverlapExperts) == 0 || tensors.list().empty() ||
      !to->open(K::fine_grained_activation_offloading))
    return;
  to->Give(K::fine_grained_activation_offloading, Value(true));
  to->Give(K::offload_tensors, tensors);
  if (to->open(K::bindpcie)) to->Give(K::bindpcie, Value(true));
}

void GiveRecompute(const Candidate& c, Giver* to) {
  if (!to->open(K::recompute_modules)) return;
  if (!to->open(K::recompute_granularity)) {  // the caller's word, which names no modules
    if (c.recompute == RecomputeMode::kSelective) {
      to->Give(K::recompute_modules, RecomputeModulesOf(c.recompute_modules));
    }
    return;
  }
  switch (c.recompute) {
    case RecomputeMode::kNone:
      return to->Give(K::recompute_granularity, Value());
    case RecomputeMode::kSelective:
      to->Give(K::recompute_granularity, Value("selective"));
      to->Give(K::recompute_modules, RecomputeModulesOf(c.recompute_modules));
      return GiveTensors(c, to);
    case RecomputeMode::kFullUniform:
    case RecomputeMode::kFullBlock:
      to->Give(K::recompute_granularity, Value("full"));
      to->Give(K::recompute_method, Value("uniform"));
      return to->Give(K::recompute_num_layers, Value(1));
  }
}

// Transformer Engine's kernel is nobody's choice here: it is taken wherever it runs.
void GiveLoss(const Candidate& c, Giver* to) {
  const bool native = c.loss == LossKind::kNativeFused;
  if (!native && c.loss != LossKind::kUnfused) return;
  if (to->open(K::cross_entropy_loss_fusion)) to->Give(K::cross_entropy_loss_fusion, Value(native));
}

void GiveOffload(const Candidate& c, Giver* to) {
  if (to->open(K::optimizer_cpu_offload)) to->Give(K::optimizer_cpu_offload, Value(c.optimizer_offload > 0));
  if (c.optimizer_offload <= 0) return;
  if (to->open(K::optimizer_offload_fraction)) {
    to->Give(K::optimizer_offload_fraction, Value(static_cast<double>(c.optimizer_offload)));
  }
  for (const Knob companion : kOffloadCompanions) {
    if (to->open(companion)) to->Give(companion, Value(true));
  }
}

// Of the step: less is none, as it is said.
constexpr double kSaidChange = 0.0005;

// Decisions of the plan that stay: the knob has the value that it had.
void KeepDecision(const ResolvedPlan& before, Knob knob, ResolvedPlan* plan) {
  if (const Decision* was = FindDecision(before.decided.decisions, knob)) *DecisionOf(knob, plan) = *was;
  for (const AbSuggestion& ab : before.decided.ab_suggestions) {
    if (ab.knob == knob) plan->decided.ab_suggestions.push_back(ab);
  }
}

// What the knobs that differ gain: as a change, since what the search goes on with moves both sides.
std::string Gain(const ResolvedPlan& before, const ResolvedPlan& after, const std::vector<Knob>& changed) {
  const Config& other = before.decided.config;
  const bool was_flex = other.Get(K::moe_token_dispatcher_type).text() == "flex";
  std::string others;
  for (const Knob knob : changed) {
    if (knob == K::moe_flex_dispatcher_backend && !was_flex) continue;
    absl::StrAppend(&others, others.empty() ? "" : ", ", Name(knob), "=", other.Get(knob).ToText());
  }
  constexpr char kWeighed[] = "weighed together by the forecast: ";
  if (!Launchable(before)) return absl::StrCat(kWeighed, "it starts, where ", others, " does not");
  const double change = after.step_us() / before.step_us() - 1;
  const double less_gib = (MostMemory(before) - MostMemory(after)) / kGib;
  std::string gain = change < -kSaidChange  ? absl::StrFormat("the step is %.1f %% shorter", -100 * change)
                     : change > kSaidChange ? absl::StrFormat("the step is %.1f %% longer", 100 * change)
                                            : "the step is as long";
  const bool roomier = change > -kAsFast && less_gib > 0;
  if (roomier) absl::StrAppendFormat(&gain, ", with %.2g GiB less,", less_gib);
  absl::StrAppend(&gain, std::abs(change) > kSaidChange ? " than" : " as", " with ", others);
  if (!roomier && change > -kSaidChange) absl::StrAppend(&gain, ", which carries more cautions");
  return absl::StrCat(kWeighed, gain);
}

}  // namespace

GivenKnobs ExecutionKnobs(const Candidate& candidate, const Config& config, const NormalizedIntent& intent) {
  Giver giver(config, intent);
  if (intent.model.is_moe() && candidate.ep > 1) GiveExchange(candidate, &giver);
  GiveGraphs(candidate, &giver);
  GiveRecompute(candidate, &giver);
  GiveLoss(candidate, &giver);
  GiveOffload(candidate, &giver);
  return giver.Take();
}

GivenKnobs DispatcherKnobs(const Candidate& candidate, const Config& config, const NormalizedIntent& intent) {
  Giver giver(config, intent);
  GiveDispatcher(candidate, &giver);
  return giver.Take();
}

GivenKnobs RoomKnobs(const Candidate& candidate, const Config& config, const NormalizedIntent& intent) {
  Giver giver(config, intent);
  GiveRecompute(candidate, &giver);
  GiveLoss(candidate, &giver);
  GiveOffload(candidate, &giver);
  return giver.Take();
}

void GiveKnobs(const GivenKnobs& knobs, NormalizedIntent* intent) {
  const auto behind = [](const std::pair<Knob, Value>& pin, Knob other) { return pin.first < other; };
  for (const auto& [knob, value] : knobs) {
    const auto at = std::lower_bound(intent->pins.begin(), intent->pins.end(), knob, behind);
    intent->pins.insert(at, {knob, value});
  }
}

Decision* DecisionOf(Knob knob, ResolvedPlan* plan) {
  std::vector<Decision>& decisions = plan->decided.decisions;
  for (Decision& decision : decisions) {
    if (decision.env_var.empty() && decision.knob == knob) return &decision;
  }
  Decision& decision = decisions.emplace_back();
  decision.knob = knob;
  return &decision;
}

void MarkDecided(Knob knob, ResolvedPlan* plan) {
  for (Config* config : {&plan->decided.config, &plan->written, &plan->run.config}) {
    if (config->origin(knob) == Origin::kCaller) config->Set(knob, config->Get(knob), Origin::kDecided);
  }
}

void MarkDecided(Knob knob, absl::string_view rule, const std::string& reason, ResolvedPlan* plan) {
  // What a command line spells by another flag comes back from the stack as its own (derive/target_knobs.h).
  const bool respelled = knob == K::virtual_pipeline_model_parallel_size &&
                         plan->run.config.origin(K::num_virtual_stages_per_pipeline_rank) == Origin::kCaller &&
                         !PinOf(plan->intent, K::num_virtual_stages_per_pipeline_rank).has_value();
  if (plan->run.config.origin(knob) != Origin::kCaller && !respelled) return;
  MarkDecided(knob, plan);
  if (respelled) MarkDecided(K::num_virtual_stages_per_pipeline_rank, plan);
  Decision* const decision = DecisionOf(knob, plan);
  decision->rule_id = rule;
  decision->reason = reason;
  decision->basis = Basis::kEstimate;
  decision->value = plan->run.config.Get(knob);
}

constexpr char kStaysOnGpu[] = "weighed together by the forecast: the optimizer's state stays on the GPU";

void TellAsDecided(const ResolvedPlan& before, const GivenKnobs& given, ResolvedPlan* plan) {
  const auto same = [&](const auto& knob) { return before.decided.config.Get(knob.first) == knob.second; };
  const bool same_backend = std::all_of(given.begin(), given.end(), [&](const auto& knob) {
    return knob.first != K::moe_flex_dispatcher_backend || same(knob);
  });
  const bool was_flex = before.decided.config.Get(K::moe_token_dispatcher_type).text() == "flex";
  std::vector<Knob> changed;
  // That nothing is offloaded was weighed, too: the other knobs, given back as words without it, would be answered with
  // an offload that makes the room.
  bool offload_left_out = false;
  for (const auto& knob_value : given) {
    const Knob knob = knob_value.first;
    // The reason for a dispatcher is one for its backend, which says nothing beside another one.
    const bool other = (knob == K::moe_token_dispatcher_type && !same_backend) ||
                       (knob == K::moe_flex_dispatcher_backend && !was_flex);
    if (same(knob_value) && !other) {
      KeepDecision(before, knob, plan);
      const bool off = knob == K::optimizer_cpu_offload && !knob_value.second.truthy();
      if (off && FindDecision(before.decided.decisions, knob) == nullptr) {
        offload_left_out = true;
      } else {
        MarkDecided(knob, plan);
      }
    } else {
      changed.push_back(knob);
    }
  }
  const std::string reason = Gain(before, *plan, changed);
  for (Knob knob : changed) MarkDecided(knob, kExecutionDecision, reason, plan);
  if (offload_left_out) MarkDecided(K::optimizer_cpu_offload, kExecutionDecision, kStaysOnGpu, plan);
  plan->intent.pins = before.intent.pins;
  CompleteOtherSides(plan->intent, &plan->decided);
}

}  // namespace flightplan
