#include "resolver/pipeline/kept_from_deepep.h"

#include <algorithm>
#include <optional>

#include "resolver/rules/decide/features.h"

namespace flightplan {
namespace {

using K = Knob;

bool IsDispatcher(Knob knob) { return knob == K::moe_token_dispatcher_type || knob == K::moe_flex_dispatcher_backend; }

}  // namespace

bool KeptFromDeepep(const ResolvedPlan& plan) {
  const NormalizedIntent& intent = plan.intent;
  const bool said =
      std::any_of(intent.pins.begin(), intent.pins.end(), [](const auto& pin) { return IsDispatcher(pin.first); });
  if (!intent.model.is_moe() || said) return false;
  const decide::Features f = decide::ExtractFeatures(intent, std::nullopt, plan.decided.config);
  return f.ep_crosses_domain && !f.flex_on_nvlink && f.deepep && f.deepep_group && decide::DeepepRuns(f, intent.gpu) &&
         decide::DeepepFailsBetweenNodes(f);
}

}  // namespace flightplan
