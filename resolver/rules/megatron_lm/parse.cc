// What the command line's reader refuses. The findings come from read/argparse; these records explain them,
// and judge typed knobs by the choices that the flags have.
#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "rapidjson/document.h"
#include "resolver/base/json.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool HasUnknownGraphModule(F f) {
  if (!HasCommandLine(f)) return false;
  for (const Value& module : f.value(f.core(18) ? K::cuda_graph_modules : K::cuda_graph_scope).list()) {
    if (module != Value("attn") && module != Value("mlp") && module != Value("moe") && module != Value("moe_router") &&
        module != Value("moe_preprocess") && module != Value("mamba") && module != Value("full") &&
        module != Value("full_iteration") && (module != Value("full_iteration_inference") || !f.core(17))) {
      return true;
    }
  }
  return false;
}

bool AreNumbers(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  int64_t number = 0;
  return std::all_of(parts.begin(), parts.end(),
                     [&](absl::string_view part) { return absl::SimpleAtoi(part, &number); });
}

// What is asked of the object before its values are held against the arguments.
bool IsLayersConfig(absl::string_view text) {
  constexpr const char* kAsked[] = {"block_configs",       "hidden_act",          "hidden_size", "num_hidden_layers",
                                    "num_attention_heads", "tie_word_embeddings", "rope_theta",  "rope_scaling"};
  rapidjson::Document document;
  return !ReadJson(text, JsonNumbers::kAll, &document).has_value() && document.IsObject() &&
         std::all_of(std::begin(kAsked), std::end(kAsked), [&](const char* key) { return document.HasMember(key); });
}

const Rule kRules[] = {
    {.id = "mlm.argparse",
     .formerly = "lf.ckpt-format",
     .area = "cli",
     .at = {Phase::kParse, 117},
     .source = "Megatron-LM:megatron/training/arguments.py:117",
     .when = [](F f) { return HasRefusedChoice(f); },
     .needs = "the flag must exist in this release, with a value of its type and among its choices",
     .fix = ChoiceFixes,
     .detail = RefusedChoice},
    {.id = "mlm.cg-scope-name",
     .area = "cuda-graph",
     .at = {Phase::kParse, 118},
     .source = "Megatron-LM:megatron/training/arguments.py:256",
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope},
     .when = [](F f) { return HasUnknownGraphModule(f); },
     .needs = "graph modules are attn, mlp, moe, moe_router, moe_preprocess, mamba, or an old name: full, "
              "full_iteration, full_iteration_inference",
     .fixes = {{{K::cuda_graph_modules, Literal::List("")}}}},
    {.id = "mlm.phase-iterations",
     .area = "cli",
     .at = {Phase::kCliValidate, 690},
     .source = "Megatron-LM:megatron/training/arguments.py:689",
     .reads = {K::phase_transition_iterations},
     .when =
         [](F f) {
           const absl::string_view phases = f.text(K::phase_transition_iterations);
           return !phases.empty() && !AreNumbers(phases);
         },
     .needs = "phase_transition_iterations are whole numbers with commas between them",
     .fixes = {{{K::phase_transition_iterations, kUnset}}}},
    {.id = "mlm.heterogeneous-json",
     .area = "cli",
     .at = {Phase::kCliValidate, 201},
     .source = "Megatron-LM:megatron/training/arguments.py:201",
     .reads = {K::heterogeneous_layers_config_encoded_json},
     .when =
         [](F f) {
           const Value& json = f.value(K::heterogeneous_layers_config_encoded_json);
           return json.is_text() && !IsLayersConfig(json.text());
         },
     .needs = "heterogeneous_layers_config_encoded_json is a JSON object with block_configs, hidden_act, hidden_size, "
              "num_hidden_layers, num_attention_heads, tie_word_embeddings, rope_theta and rope_scaling",
     .fixes = {{{K::heterogeneous_layers_config_encoded_json, kUnset}}}},
    {.id = "mlm.yaml-unknown-key",
     .area = "cli",
     .kind = Kind::kWarning,
     .at = {Phase::kParse, 119},
     .source = "Megatron-LM:megatron/training/yaml_arguments.py:1",
     .when = FoundByReader,
     .needs = "a key of a --yaml-cfg file that no code reads has no effect"},
    {.id = "input.byte-order-mark",
     .area = "cli",
     .at = {Phase::kParse, 6},
     .source = "bash(1), sbatch(1)",
     .when = FoundByReader,
     .needs = "a script must begin with its first line"},
    {.id = "input.continuation",
     .area = "cli",
     .at = {Phase::kParse, 5},
     .source = "bash(1)",
     .when = FoundByReader,
     .needs = "a launch's command must go on to its last flag"},
    {.id = "input.limit",
     .area = "cli",
     .at = {Phase::kParse, 1},
     .source = "Megatron-LM:megatron/training/arguments.py:117",
     .when = FoundByReader,
     .needs = "the input must keep within the reader's bounds and be UTF-8 text"},
    {.id = "input.line-ends",
     .area = "cli",
     .at = {Phase::kParse, 3},
     .source = "bash(1), sbatch(1)",
     .when = FoundByReader,
     .needs = "a script's lines must end as on Linux"},
    {.id = "input.not-judged",
     .area = "cli",
     .kind = Kind::kInfo,
     .at = {Phase::kParse, 2},
     .source = "Megatron-LM:megatron/training/arguments.py:117",
     .when = FoundByReader,
     .needs = "this part of the input would have to be executed to be known"},
    {.id = "input.other-launches",
     .area = "cli",
     .kind = Kind::kWarning,
     .at = {Phase::kParse, 4},
     .source = "Megatron-LM:megatron/training/arguments.py:117",
     .when = FoundByReader,
     .needs = "of a script that launches several trainings each is judged, and the worst is the answer"},
};

}  // namespace

RuleList MegatronLmParseRules() { return kRules; }

}  // namespace flightplan
