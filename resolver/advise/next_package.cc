#include "resolver/advise/next_package.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "resolver/advise/move.h"
#include "resolver/base/bytes.h"
#include "resolver/estimate/effect.h"
#include "resolver/pipeline/kept_from_deepep.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr char kNvshmem[] = "nvshmem";
// The last that DeepEP's released versions are known to run with between nodes (rules/nvshmem.h).
constexpr char kNvshmemOfDeepep[] = "3.4.5";

struct Gain {
  ResolvedPlan then;
  StepEffect effect;
};

// What the other question gains; nothing where its plan does not start, leaves less room, or gains no more than runs
// differ by.
std::optional<Gain> GainOf(const AnswerAgain& answer, const ResolvedPlan& plan, NormalizedIntent asked) {
  asked.view = View::kVerdict;  // nobody is shown more of it
  absl::StatusOr<ResolvedPlan> then = answer(std::move(asked));
  if (!then.ok() || then->step == nullptr || !Launchable(*then) || then->estimate.fit > plan.estimate.fit) {
    return std::nullopt;
  }
  const StepEffect effect = EffectOf(plan.step->step, then->step->step);
  if (effect.change > kWorthARun) return std::nullopt;
  return Gain{*std::move(then), effect};
}

std::string StepText(const StepEffect& effect) {
  return absl::StrFormat("step %+.0f %% expected (%+.0f..%+.0f)", WholePercent(effect.change), WholePercent(effect.low),
                         WholePercent(effect.high));
}

// The step to try next takes the knob along already.
bool IsNextStep(const ResolvedPlan& plan, K knob) {
  const auto sets = [knob](const Assignment& one) { return one.env_var.empty() && one.knob == knob; };
  return std::any_of(plan.run.findings.begin(), plan.run.findings.end(), [&](const Finding& finding) {
    return finding.area == "next-step" && !finding.fixes.empty() &&
           std::any_of(finding.fixes.front().begin(), finding.fixes.front().end(), sets);
  });
}

bool Compares(const ResolvedPlan& plan) {
  return plan.step != nullptr && !plan.step->outlook.measured && Launchable(plan);
}

}  // namespace

std::optional<Finding> FindNextPackage(const AnswerAgain& answer, const ResolvedPlan& plan) {
  if (!Compares(plan) || !KeptFromDeepep(plan)) return std::nullopt;
  NormalizedIntent asked = plan.intent;
  asked.env.packages.insert_or_assign(kNvshmem, kNvshmemOfDeepep);
  const std::optional<Gain> gain = GainOf(answer, plan, std::move(asked));
  if (!gain.has_value()) return std::nullopt;
  Finding finding = NextStepFinding("deepseek-ai/DeepEP#707, #553");
  finding.seen = "DeepEP hangs between nodes with NVSHMEM 3.5.19 and later, which the image has or may have";
  finding.needs = absl::StrFormat("next to try: NVSHMEM %s in the image (--package %s=%s); %s, with %s",
                                  kNvshmemOfDeepep, kNvshmem, kNvshmemOfDeepep, StepText(gain->effect),
                                  gain->then.decided.config.Get(K::moe_flex_dispatcher_backend).ToText());
  return finding;
}

std::optional<Finding> FindNextPin(const AnswerAgain& answer, const ResolvedPlan& plan) {
  constexpr K kPin = K::moe_shared_expert_overlap, kExcluded = K::overlap_moe_expert_parallel_comm;
  const Config& config = plan.decided.config;
  const bool asks = config.origin(kPin) == Origin::kCaller && config.Get(kPin).truthy() &&
                    config.origin(kExcluded) == Origin::kDecided && !config.Get(kExcluded).truthy();
  if (!asks || !Compares(plan) || IsNextStep(plan, kPin)) return std::nullopt;
  Patch without = {{kPin, "", Value(false)}};
  const std::optional<Gain> gain = GainOf(answer, plan, WithPatch(plan.intent, without));
  if (!gain.has_value() || !gain->then.decided.config.Get(kExcluded).truthy()) return std::nullopt;
  Finding finding = NextStepFinding("Megatron-LM:megatron/core/transformer/transformer_config.py:3039");
  finding.seen = absl::StrFormat("%s=true, which excludes EP overlap", Name(kPin));
  finding.needs =
      absl::StrFormat("next to try: EP overlap without it; with the fix: step %+.0f %%, %.0f -> %.0f GiB",
                      WholePercent(gain->effect.change), MostMemory(plan) / kGib, MostMemory(gain->then) / kGib);
  without.insert(without.end(), plan.chosen.begin(), plan.chosen.end());
  finding.fixes.push_back(std::move(without));
  return finding;
}

}  // namespace flightplan
