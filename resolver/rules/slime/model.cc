// Which models slime can hand to its rollout engine (THUDM/slime@624b824a8).
#include "absl/strings/string_view.h"
#include "resolver/rules/rollout_converters.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

// Parts of the names that it has a converter of weights for, in lower case and without "_" and "-"
// (slime/backends/megatron_utils/megatron_to_hf/__init__.py:42).
constexpr absl::string_view kFamilies[] = {"minimaxm2", "glm4",  "deepseekv3", "glmmoedsa", "kimi",
                                           "qwen2",     "qwen3", "llama",      "mimo"};

// The names of a launch's own --model-name are not seen here, nor is any model of a launch: it says the sizes alone.
bool HasNoConverter(const Facts& f) { return HasNoRolloutConverter(f.env().model_type, kFamilies); }

const Rule kRules[] = {
    {.id = "slime.model-type",
     .area = "model",
     .at = {Phase::kParse, 70},
     .source = "slime:slime/backends/megatron_utils/megatron_to_hf/__init__.py:66",
     .reads_env = {"model_type"},
     .when = HasNoConverter,
     .needs = "slime has no converter of this model's weights for its rollouts, and stops at their first update; a "
              "stack that makes no rollouts, such as megatron-lm, needs none"},
};

}  // namespace

RuleList SlimeModelRules() { return kRules; }

}  // namespace flightplan
