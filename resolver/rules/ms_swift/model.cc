// Which models ms-swift trains with Megatron (modelscope/ms-swift@3602360a5).
#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/string_view.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

// Types of models that its table of models says no Megatron of, or does not have, sorted
// (docs/source_en/Instruction/Supported-models-and-datasets.md). What mcore-bridge converts is in a package of its own,
// which grows: a type that is not here may be among it.
constexpr absl::string_view kWithoutMegatron[] = {
    "dbrx",       "gemma2",  "gemma3_text", "gpt3",   "grok-1",     "kimi_k3", "kimi_linear",
    "minimax_m3", "mixtral", "nemotron",    "phimoe", "step3_text", "step3p5",
};

bool HasNoConverter(const Facts& f) {
  return std::binary_search(std::begin(kWithoutMegatron), std::end(kWithoutMegatron), f.env().model_type);
}

const Rule kRules[] = {
    {.id = "ms-swift.model-type",
     .area = "model",
     .at = {Phase::kParse, 70},
     .source = "ms-swift:swift/megatron/arguments/megatron_args.py:829; "
               "docs/source_en/Instruction/Supported-models-and-datasets.md",
     .reads_env = {"model_type"},
     .when = HasNoConverter,
     .needs = "mcore-bridge has no converter for this model; --bridge_backend megatron-bridge takes what "
              "Megatron-Bridge has one for; a stack that builds the model from flags, such as megatron-lm, needs none"},
};

}  // namespace

RuleList MsSwiftModelRules() { return kRules; }

}  // namespace flightplan
