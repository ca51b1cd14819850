// Which models miles can hand to its rollout engine (radixark/miles@31f1ca961).
#include "absl/strings/string_view.h"
#include "resolver/rules/rollout_converters.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

// Parts of the names that it converts the weights of by itself, in lower case and without "_"
// (miles/backends/megatron_utils/megatron_to_hf/__init__.py:33). Kimi-K2's configuration is DeepSeek-V3's class.
constexpr absl::string_view kFamilies[] = {"glm4",  "deepseekv3", "deepseekv4", "glmmoedsa", "qwen2", "qwen3",
                                           "llama", "mimo",       "inkling",    "kimik2",    "kimivl"};

// Adapters go by Megatron-Bridge.
bool HasNoConverter(const Facts& f) {
  return f.none(Knob::peft_scheme) && HasNoRolloutConverter(f.env().model_type, kFamilies);
}

const Rule kRules[] = {
    {.id = "miles.model-type",
     .area = "model",
     .at = {Phase::kParse, 70},
     .source = "miles:miles/backends/megatron_utils/megatron_to_hf/__init__.py:67",
     .reads = {Knob::peft_scheme},
     .reads_env = {"model_type"},
     .when = HasNoConverter,
     .needs =
         "miles has no converter of this model's weights for its rollouts, and stops at their first update; "
         "--megatron-to-hf-mode bridge takes what Megatron-Bridge has one for, and a stack that makes no rollouts, "
         "such as megatron-lm, needs none"},
};

}  // namespace

RuleList MilesModelRules() { return kRules; }

}  // namespace flightplan
