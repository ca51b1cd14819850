#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "resolver/base/saturating.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/read/hydra_value.h"
#include "resolver/render/flag_words.h"
#include "resolver/stacks/required_inputs.h"
#include "resolver/stacks/verl/dialect.h"
#include "resolver/stacks/verl/words.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kActor = "actor_rollout_ref.actor.";

// What verl or the launch's other words say; the model stands in its folder.
constexpr K kElsewhere[] = {K::variable_seq_lengths,
                            K::bf16,
                            K::fp16,
                            K::launch_num_gpus,
                            K::micro_batch_size,
                            K::global_batch_size,
                            K::seq_length,
                            K::grad_reduce_in_fp32};

// Where a field of a config class is added; empty: nowhere.
std::string AddedAt(Knob knob) {
  const Section section = Row(knob).section;
  const absl::string_view place = section == Section::kModel       ? "megatron.override_transformer_config."
                                  : section == Section::kDdp       ? "megatron.override_ddp_config."
                                  : section == Section::kOptimizer ? "optim.override_optimizer_config."
                                                                   : "";
  return place.empty() ? "" : absl::StrCat("+", kActor, place, Name(knob));
}

bool Chosen(Origin origin) {
  return origin != Origin::kAbsent && origin != Origin::kUpstream && origin != Origin::kModel;
}

// False: it is no knob of the adapters, or one that verl has no word for.
bool WriteAdapter(const RenderInput& input, Knob knob, LaunchWriter* words, Launch* launch) {
  if (Row(knob).section != Section::kPeft) return false;
  if (!AdaptersConfigured(input.config)) return true;
  const auto* const key = std::find_if(std::begin(kVerlAdapterKeys), std::end(kVerlAdapterKeys),
                                       [knob](const VerlAdapterKey& row) { return row.knob == knob; });
  if (key == std::end(kVerlAdapterKeys)) return false;
  const Value& value = input.config.Get(knob);
  launch->words.push_back(words->At(knob));
  words->Line(absl::StrCat(key->path, "=", value == Value("mcore_lora") ? "lora" : WriteHydraValue(value)));
  return true;
}

// Writes each knob that was chosen; unspelled where verl has no place for it.
void WriteKnobs(const RenderInput& input, bool whole, LaunchWriter* words, Launch* launch) {
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    const Origin origin = input.config.origin(knob);
    const bool elsewhere = std::find(std::begin(kElsewhere), std::end(kElsewhere), knob) != std::end(kElsewhere);
    if (!Chosen(origin) || (elsewhere && (whole || knob != K::micro_batch_size))) continue;
    const Value& value = input.config.Get(knob);
    if (Config::Given(origin) && WriteAdapter(input, knob, words, launch)) continue;
    const absl::string_view path = WordFor(knob, "verl.path");
    const absl::StatusOr<Value> usual = ValueFromJson(WordFor(knob, "verl.default"));
    if (!path.empty()) {
      if (origin == Origin::kDefault || (usual.ok() && SameWords(*usual, value))) continue;
      launch->words.push_back(words->At(knob));
      words->Line(absl::StrCat(kActor, path, "=", value.is_none() ? "null" : WriteHydraValue(value)));
      continue;
    }
    if (!Config::Given(origin) || value.is_none()) continue;
    const std::string added = AddedAt(knob);
    if (added.empty()) {
      launch->unspelled.push_back(knob);
    } else {
      launch->words.push_back(words->At(knob));
      words->Line(absl::StrCat(added, "=", WriteHydraValue(value)));
    }
  }
}

// The tokens that the plan counts with for a microbatch, on each GPU.
void AskForTokens(const RenderInput& input, Launch* launch) {
  const Value& length = input.config.Get(K::seq_length);
  if (!length.is_int()) return;
  const auto size = [&input](Knob knob) {
    const Value& value = input.config.Get(knob);
    return value.is_int() ? std::max<int64_t>(1, value.integer()) : 1;
  };
  const int64_t tokens = SaturatingMul(length.integer(), size(K::micro_batch_size)) / size(K::context_parallel_size);
  const std::string words = absl::StrCat(kActor, "use_dynamic_bsz=True ", kActor, "ppo_max_token_len_per_gpu=", tokens);
  Ask({"ppo_max_token_len_per_gpu", "tokens of a microbatch on each GPU: as many as the plan counts with", words, words,
       ""},
      words, launch);
}

}  // namespace

Launch RenderVerl(const RenderInput& input) {
  Launch launch;
  launch.env = input.vars;
  LaunchWriter words("python3 -m", &launch);
  const bool whole = IsWhole(input.config);
  if (whole) {
    words.Word("verl.trainer.main_ppo");
    words.Word("--config-name=ppo_megatron_trainer");
    words.Line("algorithm.adv_estimator=grpo");
    if (const Nodes nodes = NodesOf(input.env); nodes.count > 0) {
      words.Line(absl::StrCat("trainer.nnodes=", nodes.count));
      words.Line(absl::StrCat("trainer.n_gpus_per_node=", nodes.gpus));
    }
  }
  WriteKnobs(input, whole, &words, &launch);
  words.Finish();
  if (!whole) return launch;
  AskForTokens(input, &launch);
  for (const auto& [name, what, key, example] :
       {std::tuple{"model_path", "the model, by its name on the hub or its folder", "actor_rollout_ref.model.path",
                   "Qwen/Qwen3-30B-A3B"},
        std::tuple{"rollout", "the engine that makes the rollouts: vllm or sglang", "actor_rollout_ref.rollout.name",
                   "vllm"},
        std::tuple{"train_files", "the prompts", "data.train_files", "/data/train.parquet"},
        std::tuple{"val_files", "prompts to validate with", "data.val_files", "/data/test.parquet"}}) {
    AskForWord(name, what, absl::StrCat(key, "="), "VALUE", example, &launch);
  }
  return launch;
}

}  // namespace flightplan
