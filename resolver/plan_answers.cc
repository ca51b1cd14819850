#include "resolver/plan_answers.h"

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

bool Launchable(const v1::ResolveConfigResponse& answer) {
  return answer.outcome() == v1::OUTCOME_RESOLVED && answer.estimate().fit() != v1::FIT_VERDICT_DOES_NOT_FIT;
}

double MostMemory(const v1::ResolveConfigResponse& answer) {
  double most = 0;
  for (const v1::StageMemory& stage : answer.estimate().stages()) most = std::max(most, stage.total_bytes().value());
  return most;
}

double StepUs(const v1::ResolveConfigResponse& answer) { return answer.estimate().step_time_us().value(); }

// ---- sizes and recompute sets as the search's decisions

v1::Decision* DecisionOf(absl::string_view knob, v1::ResolveConfigResponse* answer) {
  for (v1::Decision& decision : *answer->mutable_decisions()) {
    if (decision.name() == knob) return &decision;
  }
  v1::Decision* decision = answer->add_decisions();
  decision->set_name(std::string(knob));
  return decision;
}

// The knob was given to the pipeline as a word that stands; the caller did not say it.
void MarkDecided(Knob knob, absl::string_view rule, absl::string_view reason, v1::ResolveConfigResponse* answer) {
  const std::string name(Name(knob));
  for (v1::ConfigEntry& entry : *answer->mutable_config()) {
    if (entry.name() != name || entry.origin() != v1::CONFIG_ORIGIN_CALLER) continue;
    entry.set_origin(v1::CONFIG_ORIGIN_DECIDED);
    entry.set_reason(std::string(reason));
    v1::Decision* decision = DecisionOf(name, answer);
    decision->set_rule_id(std::string(rule));
    *decision->mutable_value() = entry.value();
    decision->set_reason(std::string(reason));
    decision->set_basis(v1::BASIS_ESTIMATE);
  }
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

void MarkSizes(const NormalizedIntent& intent, v1::ResolveConfigResponse* answer) {
  for (const SizeKnob& size : kSizes) {
    if ((intent.layout.*size.wish).has_value() || PinOf(intent, size.knob).has_value()) continue;
    MarkDecided(size.knob, kLayoutDecision, kLeftOpen, answer);
  }
}

constexpr std::pair<unsigned, const char*> kModules[] = {
    {kDropCoreAttn, "core_attn"},  {kDropMlaUpProj, "mla_up_proj"},        {kDropMlp, "mlp"}, {kDropMoeAct, "moe_act"},
    {kDropLayernorm, "layernorm"}, {kDropSharedExperts, "shared_experts"}, {kDropMoe, "moe"}};

constexpr Knob kSplitKnobs[] = {K::pipeline_model_parallel_layout};
constexpr Knob kRecomputeKnobs[] = {K::recompute_granularity, K::recompute_modules, K::recompute_method,
                                    K::recompute_num_layers};

v1::KnobValue* Pin(Knob knob, v1::ResolveConfigRequest* request) {
  v1::KnobSetting* setting = request->add_pinned_knobs();
  setting->set_name(std::string(Name(knob)));
  return setting->mutable_value();
}

// The search's recompute set as pins.
void PinRecompute(const Candidate& candidate, v1::ResolveConfigRequest* request) {
  v1::KnobValue* const granularity = Pin(K::recompute_granularity, request);
  switch (candidate.recompute) {
    case RecomputeMode::kNone:
      return;
    case RecomputeMode::kSelective:
      granularity->set_string_value("selective");
      for (v1::KnobValue* modules = Pin(K::recompute_modules, request); const auto& [bit, name] : kModules) {
        if ((candidate.recompute_modules & bit) != 0) {
          modules->mutable_list_value()->add_values()->set_string_value(name);
        }
      }
      return;
    case RecomputeMode::kFullUniform:
    case RecomputeMode::kFullBlock:
      granularity->set_string_value("full");
      Pin(K::recompute_method, request)->set_string_value("uniform");
      Pin(K::recompute_num_layers, request)->set_int_value(1);
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
  Improvement(const Resolver& resolver, const EvidenceSnapshot& evidence, v1::ResolveConfigRequest request)
      : resolver_(resolver), evidence_(evidence), request_(std::move(request)) {}

  v1::ResolveConfigRequest& request() { return request_; }
  const std::optional<v1::ResolveConfigResponse>& best() const { return best_; }
  std::optional<v1::ResolveConfigResponse> TakeBest() { return std::move(best_); }
  double now() const { return best_.has_value() ? StepUs(*best_) : 0; }
  // The search's time is worth a try.
  bool Promises(double us) const { return !best_.has_value() || us < now() * (1 - kWorthASet); }

  // The request as it is now, whose pins beyond the last one tried are those of `knobs`, as `rule`'s decision. It is
  // kept where it is clearly faster than the best so far; else its pins are forgotten.
  absl::Status Try(absl::Span<const Knob> knobs, absl::string_view rule, absl::string_view instead) {
    v1::ResolveConfigResponse tried;
    FLIGHTPLAN_RETURN_IF_ERROR(resolver_.ResolveConfig(request_, &tried, evidence_));
    const bool worse_fit = best_.has_value() && best_->estimate().fit() == v1::FIT_VERDICT_FITS &&
                           tried.estimate().fit() != v1::FIT_VERDICT_FITS;
    const double gain = best_.has_value() ? 1 - StepUs(tried) / now() : 1;
    const bool better = Launchable(tried) && !worse_fit && gain > kWorthASet;
    if (!better) {
      request_ = kept_request_;
      return absl::OkStatus();
    }
    const std::string reason =
        best_.has_value() ? absl::StrFormat("the search: %.0f %% shorter step than with %s", gain * 100, instead)
                          : absl::StrCat("the search: fits, where ", instead, " does not");
    decisions_.push_back({knobs, rule, reason});
    for (const SearchDecision& decision : decisions_) {
      for (Knob knob : decision.knobs) MarkDecided(knob, decision.rule, decision.reason, &tried);
    }
    best_ = std::move(tried);
    kept_request_ = request_;
    return absl::OkStatus();
  }

  absl::Status Start() {
    v1::ResolveConfigResponse decided;
    FLIGHTPLAN_RETURN_IF_ERROR(resolver_.ResolveConfig(request_, &decided, evidence_));
    if (Launchable(decided)) best_ = std::move(decided);
    kept_request_ = request_;
    return absl::OkStatus();
  }

 private:
  struct SearchDecision {
    absl::Span<const Knob> knobs;
    absl::string_view rule;
    std::string reason;
  };
  const Resolver& resolver_;
  const EvidenceSnapshot& evidence_;
  v1::ResolveConfigRequest request_, kept_request_;
  std::optional<v1::ResolveConfigResponse> best_;
  std::vector<SearchDecision> decisions_;
};

std::string LayoutOf(const StageLayout& stages, int64_t mtp) {
  std::vector<int64_t> layers;
  for (const ChunkContents& chunk : stages.chunks) layers.push_back(chunk.Layers());
  return LayoutText(layers, mtp);
}

// Empty: no way to launch this layout.
absl::Status AnswerOne(const Resolver& resolver, const v1::ResolveConfigRequest& base, const LayoutSearch& search,
                       const FoundPlan& found, const EvidenceSnapshot& evidence,
                       std::optional<v1::ResolveConfigResponse>* best) {
  v1::ResolveConfigRequest request = base;
  request.mutable_hardware()->set_gpu_count(static_cast<int32_t>(search.intent.gpu_count));
  Write(found.sizes, search.shape.is_moe(), request.mutable_layout());
  Improvement plan(resolver, evidence, std::move(request));
  FLIGHTPLAN_RETURN_IF_ERROR(plan.Start());
  if (found.split > 0 && plan.Promises(found.step.us)) {
    const std::string text = LayoutOf(*found.candidate.stages, search.shape.mtp_depths);
    plan.request().mutable_layout()->set_pipeline_model_parallel_layout(text);
    FLIGHTPLAN_RETURN_IF_ERROR(
        plan.Try(kSplitKnobs, kSplitDecision, "as many layers on the last rank as on the others"));
  }
  // The search weighs recompute against overlap and memory, the decisions one after the other. How many layers go to
  // the host is decided by the same figures.
  if (plan.Promises(found.step.us) && RecomputeIsOpen(search.intent) && found.candidate.offload_layers == 0) {
    PinRecompute(found.candidate, &plan.request());
    FLIGHTPLAN_RETURN_IF_ERROR(plan.Try(kRecomputeKnobs, kRecomputeDecision, "the set that frees memory first"));
  }
  *best = plan.TakeBest();
  if (best->has_value()) MarkSizes(search.intent, &**best);
  return absl::OkStatus();
}

// A plan that stands for others says which: as alternatives of the size in which they differ.
void NameVariant(const PlanAnswer& variant, double plan_us, PlanAnswer* plan) {
  const double change = StepUs(variant.answer) / plan_us - 1;
  for (const auto& [knob, now, other] :
       {std::tuple(K::virtual_pipeline_model_parallel_size, int64_t{plan->sizes.vpp}, int64_t{variant.sizes.vpp}),
        std::tuple(K::micro_batch_size, plan->sizes.micro_batch_size, variant.sizes.micro_batch_size)}) {
    if (now == other) continue;
    v1::Decision* const decision = DecisionOf(Name(knob), &plan->answer);
    if (decision->rule_id().empty()) {  // left at its default, which the search chose as well
      decision->set_rule_id(kLayoutDecision);
      decision->set_reason(kLeftOpen);
      decision->set_basis(v1::BASIS_ESTIMATE);
    }
    v1::Alternative* const alternative = decision->add_alternatives();
    alternative->mutable_value()->set_int_value(other);
    alternative->set_reason(
        absl::StrFormat("VPP %d with a micro-batch of %d: step %+.1f %%, which a forecast cannot tell "
                        "from this plan's",
                        variant.sizes.vpp, variant.sizes.micro_batch_size, change * 100));
  }
}

}  // namespace

bool Alike(const LayoutSizes& a, double a_us, const LayoutSizes& b, double b_us) {
  return MappingOf(a) == MappingOf(b) && std::abs(a_us - b_us) < kResolution * std::min(a_us, b_us);
}

absl::Status AnswerPlans(const Resolver& resolver, const v1::ResolveConfigRequest& base, const LayoutSearch& search,
                         const SearchResult& found, const EvidenceSnapshot& evidence, PlanAnswers* answers) {
  std::vector<PlanAnswer> plans;
  for (const FoundPlan& plan : found.plans) {
    std::optional<v1::ResolveConfigResponse> best;
    FLIGHTPLAN_RETURN_IF_ERROR(AnswerOne(resolver, base, search, plan, evidence, &best));
    if (best.has_value()) {
      plans.push_back({plan.sizes, *std::move(best)});
    } else {
      ++answers->refused;
    }
  }
  const bool by_memory = search.question.objective == SearchObjective::kMemoryHeadroom;
  const auto better = [&](const PlanAnswer& a, const PlanAnswer& b) {
    return by_memory ? MostMemory(a.answer) < MostMemory(b.answer) : StepUs(a.answer) < StepUs(b.answer);
  };
  std::stable_sort(plans.begin(), plans.end(), better);
  // One plan stands for those of its mapping that a forecast cannot tell from it.
  std::vector<PlanAnswer>& kept = answers->plans;
  std::vector<double> best_us;  // of what each kept plan stands for
  std::vector<std::vector<PlanAnswer>> variants;
  for (PlanAnswer& plan : plans) {
    size_t i = 0;
    const auto alike = [&](const PlanAnswer& other) {
      return Alike(other.sizes, best_us[i], plan.sizes, StepUs(plan.answer)) &&
             other.answer.estimate().fit() <= plan.answer.estimate().fit();
    };
    while (i < kept.size() && !alike(kept[i])) ++i;
    if (i == kept.size()) {
      best_us.push_back(StepUs(plan.answer));
      kept.push_back(std::move(plan));
      variants.emplace_back();
      continue;
    }
    ++answers->alike;
    const bool simpler = plan.sizes.vpp < kept[i].sizes.vpp && StepUs(plan.answer) < best_us[i] * (1 + kSame);
    if (simpler) std::swap(plan, kept[i]);
    variants[i].push_back(std::move(plan));
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    const double us = StepUs(kept[i].answer);
    for (const PlanAnswer& variant : variants[i]) NameVariant(variant, us, &kept[i]);
  }
  std::stable_sort(kept.begin(), kept.end(), better);
  return absl::OkStatus();
}

void PlanFinding(absl::string_view id, v1::Severity severity, std::string seen, std::string needs,
                 google::protobuf::RepeatedPtrField<v1::Finding>* findings) {
  v1::Finding* finding = findings->Add();
  finding->set_rule_id(std::string(id));
  finding->set_area("plan");
  finding->set_severity(severity);
  finding->set_verdict(severity == v1::SEVERITY_INFO ? v1::VERDICT_KIND_ADVICE : v1::VERDICT_KIND_WILL_RUN);
  finding->set_stage("plan");
  finding->set_seen(std::move(seen));
  finding->set_needs(std::move(needs));
  finding->mutable_source()->set_text("resolver/planner");
}

}  // namespace flightplan
