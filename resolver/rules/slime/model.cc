// Which models slime can hand to its rollout engine (THUDM/slime@624b824a8).
#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

// Parts of the names that it has a converter of weights for, in lower case and without "_" and "-"
// (slime/backends/megatron_utils/megatron_to_hf/__init__.py:42).
constexpr absl::string_view kFamilies[] = {"minimaxm2", "glm4",  "deepseekv3", "glmmoedsa", "kimi",
                                           "qwen2",     "qwen3", "llama",      "mimo"};

// By the model's type, which is the name of its configuration's class. The names of a launch's own --model-name are not
// seen here, nor is any model of a launch: it says the sizes alone.
bool HasNoConverter(const Facts& f) {
  const std::string name = absl::StrReplaceAll(f.env().model_type, {{"_", ""}, {"-", ""}});
  return !name.empty() && std::none_of(std::begin(kFamilies), std::end(kFamilies),
                                       [&name](absl::string_view family) { return absl::StrContains(name, family); });
}

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
