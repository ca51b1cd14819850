// Which models miles can hand to its rollout engine (radixark/miles@31f1ca961).
#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

// Parts of the names that it converts the weights of by itself, in lower case and without "_"
// (miles/backends/megatron_utils/megatron_to_hf/__init__.py:33). Kimi-K2's configuration is DeepSeek-V3's class.
constexpr absl::string_view kFamilies[] = {"glm4",  "deepseekv3", "deepseekv4", "glmmoedsa", "qwen2", "qwen3",
                                           "llama", "mimo",       "inkling",    "kimik2",    "kimivl"};

// By the model's type, which is the name of its configuration's class; adapters go by Megatron-Bridge.
bool HasNoConverter(const Facts& f) {
  const std::string name = absl::StrReplaceAll(f.env().model_type, {{"_", ""}, {"-", ""}});
  return !name.empty() && f.none(Knob::peft_scheme) &&
         std::none_of(std::begin(kFamilies), std::end(kFamilies),
                      [&name](absl::string_view family) { return absl::StrContains(name, family); });
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
