#include "resolver/advise/next_package.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "resolver/advise/move.h"
#include "resolver/estimate/effect.h"
#include "resolver/pipeline/kept_from_deepep.h"

namespace flightplan {
namespace {

constexpr char kNvshmem[] = "nvshmem";
// The last that DeepEP's released versions are known to run with between nodes (rules/nvshmem.h).
constexpr char kNvshmemOfDeepep[] = "3.4.5";

}  // namespace

std::optional<Finding> FindNextPackage(const AnswerAgain& answer, const ResolvedPlan& plan) {
  if (plan.step == nullptr || plan.step->outlook.measured || !Launchable(plan) || !KeptFromDeepep(plan)) {
    return std::nullopt;
  }
  NormalizedIntent asked = plan.intent;
  asked.env.packages.insert_or_assign(kNvshmem, kNvshmemOfDeepep);
  asked.view = View::kVerdict;  // nobody is shown more of it
  const absl::StatusOr<ResolvedPlan> then = answer(std::move(asked));
  if (!then.ok() || then->step == nullptr || !Launchable(*then) || then->estimate.fit > plan.estimate.fit) {
    return std::nullopt;
  }
  const StepEffect effect = EffectOf(plan.step->step, then->step->step);
  if (effect.change > kWorthARun) return std::nullopt;
  Finding finding = NextStepFinding("deepseek-ai/DeepEP#707, #553");
  finding.seen = "DeepEP hangs between nodes with NVSHMEM 3.5.19 and later, which the image has or may have";
  finding.needs = absl::StrFormat(
      "next to try: NVSHMEM %s in the image (--package %s=%s); step %+.0f %% expected (%+.0f..%+.0f), with %s",
      kNvshmemOfDeepep, kNvshmem, kNvshmemOfDeepep, 100 * effect.change, 100 * effect.low, 100 * effect.high,
      then->decided.config.Get(Knob::moe_flex_dispatcher_backend).ToText());
  return finding;
}

}  // namespace flightplan
