#include "resolver/layouts/plan_answers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "resolver/base/status_macros.h"
#include "resolver/derive/pipeline.h"
#include "resolver/pipeline/resolve.h"

namespace flightplan {
namespace {

using K = Knob;

// The decisions' own recompute set stays unless the search's makes the step shorter by more than this: below it the
// set that evidence and recipes know is worth more.
constexpr double kWorthASet = 0.02;
constexpr char kLeftOpen[] = "left open: the search's choice";
// Steps as close as this are the same to a forecast, so the plan with the fewest virtual stages stands for them: what
// more of them cost in transfers and memory is what the forecast knows least.
constexpr double kSame = 0.01;

bool Launchable(const ResolvedPlan& plan) {
  return VerdictsOf(plan.run.findings).will_run && plan.estimate.fit != FitVerdict::kDoesNotFit;
}

double MostMemory(const ResolvedPlan& plan) {
  double most = 0;
  for (const StageForecast& stage : plan.estimate.stages) most = std::max(most, stage.total.value);
  return most;
}

// ---- sizes and recompute sets as the search's decisions

Decision* DecisionOf(Knob knob, ResolvedPlan* plan) {
  std::vector<Decision>& decisions = plan->decided.decisions;
  for (Decision& decision : decisions) {
    if (decision.env_var.empty() && decision.knob == knob) return &decision;
  }
  Decision& decision = decisions.emplace_back();
  decision.knob = knob;
  return &decision;
}

void Decided(absl::string_view rule, std::string reason, Decision* decision) {
  decision->rule_id = rule;
  decision->reason = std::move(reason);
  decision->basis = Basis::kEstimate;
}

// The knob was given to the pipeline as a word that stands; the caller did not say it.
void MarkDecided(Knob knob, absl::string_view rule, const std::string& reason, ResolvedPlan* plan) {
  if (plan->run.config.origin(knob) != Origin::kCaller) return;
  const Value value = plan->run.config.Get(knob);
  plan->run.config.Set(knob, value, Origin::kDecided);
  Decision* const decision = DecisionOf(knob, plan);
  Decided(rule, reason, decision);
  decision->value = value;
}

struct SizeKnob {
  Knob knob;
  std::optional<int64_t> LayoutWish::*wish;
};
constexpr SizeKnob kSizes[] = {
    {K::tensor_model_parallel_size, &LayoutWish::tensor_model_parallel_size},
    {K::pipeline_model_parallel_size, &LayoutWish::pipeline_model_parallel_size},
    {K::virtual_pipeline_model_parallel_size, &LayoutWish::virtual_pipeline_model_parallel_size},
    {K::context_parallel_size, &LayoutWish::context_parallel_size},
    {K::expert_model_parallel_size, &LayoutWish::expert_model_parallel_size},
    {K::expert_tensor_parallel_size, &LayoutWish::expert_tensor_parallel_size},
    {K::micro_batch_size, &LayoutWish::micro_batch_size},
};

void MarkSizes(const NormalizedIntent& intent, ResolvedPlan* plan) {
  for (const SizeKnob& size : kSizes) {
    if ((intent.layout.*size.wish).has_value() || PinOf(intent, size.knob).has_value()) continue;
    MarkDecided(size.knob, kLayoutDecision, kLeftOpen, plan);
  }
}

void Give(const LayoutSizes& sizes, bool moe, LayoutWish* layout) {
  layout->tensor_model_parallel_size = sizes.tp;
  layout->pipeline_model_parallel_size = sizes.pp;
  layout->virtual_pipeline_model_parallel_size = sizes.vpp;
  layout->context_parallel_size = sizes.cp;
  layout->micro_batch_size = std::min<int64_t>(sizes.micro_batch_size, INT32_MAX);
  if (!moe) return;
  layout->expert_model_parallel_size = sizes.ep;
  layout->expert_tensor_parallel_size = sizes.etp;
}

constexpr std::pair<unsigned, const char*> kModules[] = {
    {kDropCoreAttn, "core_attn"},  {kDropMlaUpProj, "mla_up_proj"},        {kDropMlp, "mlp"}, {kDropMoeAct, "moe_act"},
    {kDropLayernorm, "layernorm"}, {kDropSharedExperts, "shared_experts"}, {kDropMoe, "moe"}};

constexpr Knob kSplitKnobs[] = {K::pipeline_model_parallel_layout};
constexpr Knob kRecomputeKnobs[] = {K::recompute_granularity, K::recompute_modules, K::recompute_method,
                                    K::recompute_num_layers};

void Pin(Knob knob, Value value, NormalizedIntent* intent) {
  const auto behind = [](const std::pair<Knob, Value>& pin, Knob other) { return pin.first < other; };
  const auto at = std::lower_bound(intent->pins.begin(), intent->pins.end(), knob, behind);
  intent->pins.insert(at, {knob, std::move(value)});
}

// The search's recompute set as pins.
void PinRecompute(const Candidate& candidate, NormalizedIntent* intent) {
  switch (candidate.recompute) {
    case RecomputeMode::kNone:
      Pin(K::recompute_granularity, Value(), intent);
      return;
    case RecomputeMode::kSelective: {
      std::vector<Value> modules;
      for (const auto& [bit, name] : kModules) {
        if ((candidate.recompute_modules & bit) != 0) modules.emplace_back(name);
      }
      Pin(K::recompute_granularity, Value("selective"), intent);
      Pin(K::recompute_modules, Value(std::move(modules)), intent);
      return;
    }
    case RecomputeMode::kFullUniform:
    case RecomputeMode::kFullBlock:
      Pin(K::recompute_granularity, Value("full"), intent);
      Pin(K::recompute_method, Value("uniform"), intent);
      Pin(K::recompute_num_layers, Value(1), intent);
      return;
  }
}

bool RecomputeIsOpen(const NormalizedIntent& intent) {
  return std::none_of(std::begin(kRecomputeKnobs), std::end(kRecomputeKnobs),
                      [&](Knob knob) { return PinOf(intent, knob).has_value(); });
}

// ---- one plan

// One layout as its decisions have it, and what the search found to be clearly better than that.
class Improvement {
 public:
  Improvement(const EvidenceSnapshot& evidence, NormalizedIntent intent)
      : evidence_(evidence), intent_(std::move(intent)) {}

  std::optional<ResolvedPlan> TakeBest() { return std::move(best_); }
  // The search's time is worth a try.
  bool Promises(double us) const { return !best_.has_value() || us < best_->step_us() * (1 - kWorthASet); }

  absl::Status Start() {
    FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan decided, Resolve(intent_, evidence_));
    if (Launchable(decided)) best_ = std::move(decided);
    return absl::OkStatus();
  }

  // The question with what `give` adds to it: `knobs`, as `rule`'s decision. It is kept where it is clearly faster than
  // the best so far.
  template <class GiveKnobs>
  absl::Status Try(absl::Span<const Knob> knobs, absl::string_view rule, absl::string_view instead, GiveKnobs give) {
    NormalizedIntent changed = intent_;
    give(&changed);
    FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan tried, Resolve(changed, evidence_));
    const bool worse_fit =
        best_.has_value() && best_->estimate.fit == FitVerdict::kFits && tried.estimate.fit != FitVerdict::kFits;
    const double gain = best_.has_value() ? 1 - tried.step_us() / best_->step_us() : 1;
    if (!Launchable(tried) || worse_fit || gain <= kWorthASet) return absl::OkStatus();
    const std::string reason =
        best_.has_value() ? absl::StrFormat("the search: %.0f %% shorter step than with %s", gain * 100, instead)
                          : absl::StrCat("the search: fits, where ", instead, " does not");
    decisions_.push_back({knobs, rule, reason});
    for (const SearchDecision& decision : decisions_) {
      for (Knob knob : decision.knobs) MarkDecided(knob, decision.rule, decision.reason, &tried);
    }
    best_ = std::move(tried);
    intent_ = std::move(changed);
    return absl::OkStatus();
  }

 private:
  struct SearchDecision {
    absl::Span<const Knob> knobs;
    absl::string_view rule;
    std::string reason;
  };
  const EvidenceSnapshot& evidence_;
  NormalizedIntent intent_;
  std::optional<ResolvedPlan> best_;
  std::vector<SearchDecision> decisions_;
};

std::string LayoutOf(const StageLayout& stages, int64_t mtp) {
  std::vector<int64_t> layers;
  for (const ChunkContents& chunk : stages.chunks) layers.push_back(chunk.Layers());
  return LayoutText(layers, mtp);
}

// Empty: no way to launch this layout.
absl::Status AnswerOne(const NormalizedIntent& question, const LayoutSearch& search, const FoundPlan& found,
                       const EvidenceSnapshot& evidence, std::optional<ResolvedPlan>* best) {
  NormalizedIntent intent = question;
  intent.gpu_count = search.intent.gpu_count;
  intent.env.world_size = search.intent.gpu_count;
  Give(found.sizes, search.shape.is_moe(), &intent.layout);
  Improvement plan(evidence, std::move(intent));
  FLIGHTPLAN_RETURN_IF_ERROR(plan.Start());
  if (found.split > 0 && plan.Promises(found.step.us)) {
    FLIGHTPLAN_RETURN_IF_ERROR(plan.Try(
        kSplitKnobs, kSplitDecision, "as many layers on the last rank as on the others", [&](NormalizedIntent* split) {
          split->layout.pipeline_model_parallel_layout = LayoutOf(*found.candidate.stages, search.shape.mtp_depths);
        }));
  }
  // The search weighs recompute against overlap and memory, the decisions one after the other. How many layers go to
  // the host is decided by the same figures.
  if (plan.Promises(found.step.us) && RecomputeIsOpen(search.intent) && found.candidate.offload_layers == 0) {
    FLIGHTPLAN_RETURN_IF_ERROR(plan.Try(kRecomputeKnobs, kRecomputeDecision, "the set that frees memory first",
                                        [&](NormalizedIntent* pinned) { PinRecompute(found.candidate, pinned); }));
  }
  *best = plan.TakeBest();
  if (best->has_value()) MarkSizes(search.intent, &**best);
  return absl::OkStatus();
}

// A plan that stands for others says which: as alternatives of the size in which they differ.
void NameVariant(const PlanAnswer& variant, double plan_us, PlanAnswer* plan) {
  const double change = variant.plan.step_us() / plan_us - 1;
  for (const auto& [knob, now, other] :
       {std::tuple(K::virtual_pipeline_model_parallel_size, int64_t{plan->sizes.vpp}, int64_t{variant.sizes.vpp}),
        std::tuple(K::micro_batch_size, plan->sizes.micro_batch_size, variant.sizes.micro_batch_size)}) {
    if (now == other) continue;
    Decision* const decision = DecisionOf(knob, &plan->plan);
    if (decision->rule_id.empty()) {  // left at its default, which the search chose as well
      Decided(kLayoutDecision, kLeftOpen, decision);
      decision->value = plan->plan.run.config.Get(knob);
    }
    decision->alternatives.push_back(
        {Value(other), absl::StrFormat("VPP %d with a micro-batch of %d: step %+.1f %%, which a forecast cannot tell "
                                       "from this plan's",
                                       variant.sizes.vpp, variant.sizes.micro_batch_size, change * 100)});
  }
}

}  // namespace

bool Alike(const LayoutSizes& a, double a_us, const LayoutSizes& b, double b_us) {
  return MappingOf(a) == MappingOf(b) && std::abs(a_us - b_us) < kResolution * std::min(a_us, b_us);
}

absl::Status AnswerPlans(const NormalizedIntent& question, const LayoutSearch& search, const SearchResult& found,
                         const EvidenceSnapshot& evidence, PlanAnswers* answers) {
  std::vector<PlanAnswer> plans;
  for (const FoundPlan& plan : found.plans) {
    std::optional<ResolvedPlan> best;
    FLIGHTPLAN_RETURN_IF_ERROR(AnswerOne(question, search, plan, evidence, &best));
    if (best.has_value()) {
      plans.push_back({plan.sizes, *std::move(best)});
    } else {
      ++answers->refused;
    }
  }
  const bool by_memory = search.question.objective == SearchObjective::kMemoryHeadroom;
  const auto better = [&](const PlanAnswer& a, const PlanAnswer& b) {
    return by_memory ? MostMemory(a.plan) < MostMemory(b.plan) : a.plan.step_us() < b.plan.step_us();
  };
  std::stable_sort(plans.begin(), plans.end(), better);
  // One plan stands for those of its mapping that a forecast cannot tell from it.
  std::vector<PlanAnswer>& kept = answers->plans;
  std::vector<double> best_us;  // of what each kept plan stands for
  std::vector<std::vector<PlanAnswer>> variants;
  for (PlanAnswer& plan : plans) {
    size_t i = 0;
    const auto alike = [&](const PlanAnswer& other) {
      return Alike(other.sizes, best_us[i], plan.sizes, plan.plan.step_us()) &&
             other.plan.estimate.fit <= plan.plan.estimate.fit;
    };
    while (i < kept.size() && !alike(kept[i])) ++i;
    if (i == kept.size()) {
      best_us.push_back(plan.plan.step_us());
      kept.push_back(std::move(plan));
      variants.emplace_back();
      continue;
    }
    ++answers->alike;
    const bool simpler = plan.sizes.vpp < kept[i].sizes.vpp && plan.plan.step_us() < best_us[i] * (1 + kSame);
    if (simpler) std::swap(plan, kept[i]);
    variants[i].push_back(std::move(plan));
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    const double us = kept[i].plan.step_us();
    for (const PlanAnswer& variant : variants[i]) NameVariant(variant, us, &kept[i]);
  }
  std::stable_sort(kept.begin(), kept.end(), better);
  return absl::OkStatus();
}

Finding PlanFinding(absl::string_view id, Severity severity, std::string seen, std::string needs) {
  Finding finding;
  finding.rule_id = id;
  finding.area = "plan";
  finding.severity = severity;
  finding.verdict = severity == Severity::kInfo ? Verdict::kAdvice : Verdict::kWillRun;
  finding.stage = "plan";
  finding.seen = std::move(seen);
  finding.needs = std::move(needs);
  finding.source = "resolver/planner";
  return finding;
}

}  // namespace flightplan
