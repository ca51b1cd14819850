#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
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
constexpr K kElsewhere[] = {
    K::variable_seq_lengths, K::bf16,       K::mtp_num_layers,     K::fp16, K::launch_num_gpus, K::micro_batch_size,
    K::global_batch_size,    K::seq_length, K::grad_reduce_in_fp32};

bool Chosen(Origin origin) {
  return origin != Origin::kAbsent && origin != Origin::kUpstream && origin != Origin::kModel;
}

// Without a rank of its own there are none, whatever else is said (verl/workers/config/megatron_peft.py:37).
void WriteAdapter(const RenderInput& input, Knob knob, bool whole, LaunchWriter* words, Launch* launch) {
  const bool given = input.config.Given(knob);
  if (!SaysOfAdapters(knob, input.config) || (!given && !whole)) return;
  const auto* const key = std::find_if(std::begin(kVerlAdapterKeys), std::end(kVerlAdapterKeys),
                                       [knob](const VerlAdapterKey& row) { return row.knob == knob; });
  const Value& value = input.config.Get(knob);
  if (key == std::end(kVerlAdapterKeys)) {
    if (given && !value.is_none()) launch->unspelled.push_back(knob);
    return;
  }
  launch->words.push_back(words->At(knob));
  words->Line(absl::StrCat(key->path, "=", value == Value("mcore_lora") ? "lora" : WriteHydraValue(value)));
}

// Writes each knob that was chosen; unspelled where verl has no place for it.
void WriteKnobs(const RenderInput& input, bool whole, LaunchWriter* words, Launch* launch) {
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    const Origin origin = input.config.origin(knob);
    const bool elsewhere = std::find(std::begin(kElsewhere), std::end(kElsewhere), knob) != std::end(kElsewhere);
    if (!Chosen(origin) || (elsewhere && (whole || knob != K::micro_batch_size))) continue;
    const Value& value = input.config.Get(knob);
    if (Row(knob).section == Section::kPeft) {
      WriteAdapter(input, knob, whole, words, launch);
      continue;
    }
    const absl::string_view path = WordFor(knob, "verl.path");
    const absl::StatusOr<Value> usual = ValueFromJson(WordFor(knob, "verl.default"));
    if (!path.empty()) {
      if (origin == Origin::kDefault || (usual.ok() && SameWords(*usual, value))) continue;
      launch->words.push_back(words->At(knob));
      words->Line(absl::StrCat(kActor, path, "=", value.is_none() ? "null" : WriteHydraValue(value)));
      continue;
    }
    if (!Config::Given(origin) || value.is_none()) continue;
    const std::string added = VerlAddedKey(knob);
    if (added.empty()) {
      launch->unspelled.push_back(knob);
    } else {
      launch->words.push_back(words->At(knob));
      words->Line(absl::StrCat(added, "=", WriteHydraValue(value)));
    }
  }
}

// verl leaves out a model's prediction layers unless it is told to build and to train them; how many there are stands
// in the model's folder.
void WritePredictionLayers(const Config& config, LaunchWriter* words, Launch* launch) {
  const Value& layers = config.Get(K::mtp_num_layers);
  if (!layers.is_int() || layers.integer() == 0) return;
  for (const absl::string_view word : {"enable", "enable_train"}) {
    launch->words.push_back(words->At(K::mtp_num_layers));
    words->Line(absl::StrCat(kVerlPredictionLayers, word, "=True"));
  }
}

// Answers of one prompt, which GRPO compares: as many as the samples of a step can be cut into.
constexpr int64_t kMostAnswers = 8;
// The longest prompt (verl/trainer/config/data/legacy_data.yaml); the answer has the rest of the plan's length.
constexpr int64_t kPromptTokens = 512;

// The plan's batch, as the reader counts it: prompts times answers a step, whole samples a microbatch. A microbatch of
// as many tokens as a GPU takes would leave open how many samples it holds.
void WriteBatch(const Config& config, LaunchWriter* words, Launch* launch) {
  const auto line = [&](Knob knob, absl::string_view path, int64_t value) {
    launch->words.push_back(words->At(knob));
    words->Line(absl::StrCat(path, "=", value));
  };
  const auto number = [&config](Knob knob) {
    const Value& value = config.Get(knob);
    return value.is_int() ? value.integer() : 0;
  };
  if (const int64_t samples = number(K::global_batch_size); samples > 0) {
    int64_t answers = kMostAnswers;
    while (samples % answers != 0) answers /= 2;
    line(K::global_batch_size, "data.train_batch_size", samples / answers);
    line(K::global_batch_size, absl::StrCat(kActor, "ppo_mini_batch_size"), samples / answers);
    line(K::global_batch_size, "actor_rollout_ref.rollout.n", answers);
  }
  const int64_t micro = std::max<int64_t>(1, number(K::micro_batch_size));
  line(K::micro_batch_size, absl::StrCat(kActor, "ppo_micro_batch_size_per_gpu"), micro);
  line(K::micro_batch_size, "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu", micro);
  if (const int64_t length = number(K::seq_length); length > 0) {
    const int64_t prompt = std::min(kPromptTokens, length / 2);
    line(K::seq_length, "data.max_prompt_length", prompt);
    line(K::seq_length, "data.max_response_length", length - prompt);
  }
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
    WriteBatch(input.config, &words, &launch);
    if (input.config.Get(K::fp16).truthy()) {
      launch.words.push_back(words.At(K::fp16));
      words.Line(absl::StrCat(kActor, "megatron.dtype=float16"));
    }
    WritePredictionLayers(input.config, &words, &launch);
  }
  WriteKnobs(input, whole, &words, &launch);
  words.Finish();
  if (!whole) return launch;
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
