#include "resolver/stacks/miles/adapters.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace flightplan {
namespace {

using K = Knob;

// Hugging Face's names of layers, and Megatron's (miles/backends/megatron_utils/lora_utils.py:23 and :92).
constexpr std::pair<absl::string_view, absl::string_view> kNames[] = {
    {"q_proj", "linear_qkv"},
    {"k_proj", "linear_qkv"},
    {"v_proj", "linear_qkv"},
    {"o_proj", "linear_proj"},
    {"gate_proj", "linear_fc1"},
    {"up_proj", "linear_fc1"},
    {"down_proj", "linear_fc2"},
    {"in_proj_qkvz", "in_proj"},
    {"in_proj_ba", "in_proj"},
    {"q_a_proj", "linear_q_down_proj"},
    {"kv_a_proj_with_mqa", "linear_kv_down_proj"},
    {"q_b_proj", "linear_q_up_proj"},
    {"kv_b_proj", "linear_kv_up_proj"},
    {"wq_b", "linear_wq_b"},
    {"wk", "linear_wk"},
    {"weights_proj", "linear_weights_proj"},
};

// What "all-linear" stands for; those of latent attention are nowhere else (miles/utils/arguments.py:3088).
constexpr absl::string_view kAllLinear[] = {
    "linear_qkv",         "linear_proj",      "linear_fc1",          "linear_fc2",
    "linear_q_down_proj", "linear_q_up_proj", "linear_kv_down_proj", "linear_kv_up_proj",
};

void Add(absl::string_view name, Value::List* names) {
  const Value value{std::string(name)};
  if (std::find(names->begin(), names->end(), value) == names->end()) names->push_back(value);
}

Value::List MegatronNames(absl::string_view written) {
  Value::List names;
  if (written == "all-linear" || written == "all" || written == "all_linear") {
    for (const absl::string_view name : kAllLinear) Add(name, &names);
    return names;
  }
  for (const absl::string_view word : absl::StrSplit(written, ',')) {
    const absl::string_view name = absl::StripAsciiWhitespace(word);
    const auto* const row =
        std::find_if(std::begin(kNames), std::end(kNames), [name](const auto& one) { return one.first == name; });
    Add(row == std::end(kNames) ? name : row->second, &names);
  }
  return names;
}

}  // namespace

bool TakeMilesAdapters(const RolloutWords& words, WrittenKnobs* knobs, ParseResult* result) {
  const Argument* const rank = words.Find("--lora-rank");
  if (rank == nullptr && !words.Has("--lora-adapter-path")) return false;
  const std::optional<int64_t> size = words.Number("--lora-rank");
  if (size == std::optional<int64_t>(0) && !words.Has("--lora-adapter-path")) return false;
  std::string& not_modelled = result->others.not_modelled;
  if (words.Number("--multi-lora-n-adapters").value_or(0) > 0) not_modelled = "adapters of several trainings at once";
  if (words.Has("--experts-shared-outer-loras")) not_modelled = "adapters whose one half all experts share";
  const std::optional<absl::string_view> targets = words.Text("--target-modules");
  if (!size.has_value() || *size < 1 || !targets.has_value()) not_modelled = "LoRA adapters of unknown size";
  knobs->Set(K::peft_scheme, std::string(words.Text("--lora-type").value_or("lora")));
  if (size.has_value() && *size > 0) knobs->Take(K::peft_dim, *size, rank->at);
  knobs->Set(K::peft_alpha, words.Number("--lora-alpha").value_or(16));  // miles/utils/arguments.py:1722
  double dropout = 0;
  const std::optional<absl::string_view> said = words.Text("--lora-dropout");
  knobs->Set(K::peft_dropout, said.has_value() && absl::SimpleAtod(*said, &dropout) ? dropout : 0.0);
  if (targets.has_value()) {
    knobs->Take(K::peft_target_modules, MegatronNames(*targets), words.Find("--target-modules")->at);
  }
  if (const auto excluded = words.Text("--exclude-modules"); excluded.has_value()) {
    knobs->Take(K::peft_exclude_modules, MegatronNames(*excluded), words.Find("--exclude-modules")->at);
  }
  knobs->Set(K::peft_share_expert_adapters, false);  // one for each expert: miles/utils/arguments.py:3118
  return true;
}

}  // namespace flightplan
