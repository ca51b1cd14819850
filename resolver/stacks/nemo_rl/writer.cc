#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/base/saturating.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/read/hydra_value.h"
#include "resolver/render/flag_words.h"
#include "resolver/stacks/nemo_rl/dialect.h"
#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

using K = Knob;

// The example that Megatron's launches start from.
constexpr absl::string_view kExample = "examples/configs/grpo_math_1B_megatron.yaml";
// Answers of one prompt, as it has them.
constexpr int64_t kAnswers = 16;

// What NeMo-RL or the launch's other words say; the model stands in its folder.
constexpr K kElsewhere[] = {K::calculate_per_token_loss,
                            K::average_in_collective,
                            K::check_for_nan_in_grad,
                            K::bf16,
                            K::fp16,
                            K::optimizer_bf16,
                            K::optimizer_fp16,
                            K::launch_num_gpus,
                            K::seq_length,
                            K::recompute_granularity,
                            K::recompute_method,
                            K::recompute_num_layers,
                            K::recompute_modules,
                            K::fp8,
                            K::fp8_recipe,
                            K::fp8_param,
                            K::fp8_param_gather,
                            K::reuse_grad_buf_for_mxfp8_param_ag};

bool Chosen(Origin origin) { return Config::Given(origin) && origin != Origin::kModel; }

// Where a knob is written below policy.megatron_cfg; empty: nowhere.
std::string PathOf(Knob knob) {
  if (const absl::string_view path = WordFor(knob, "nemo_rl.path"); !path.empty()) return absl::StrCat("policy.", path);
  const absl::string_view field = FieldNameOf(knob);
  // Of two classes, by one key (setup.py:1434).
  if (knob == K::use_distributed_optimizer) return PathOf(K::optimizer_use_distributed_optimizer);
  switch (Row(knob).section) {
    case Section::kOptimizer:
      return absl::StrCat("policy.megatron_cfg.optimizer.", field);
    case Section::kModel:
      return absl::StrCat("policy.megatron_cfg.model_overrides.", field);
    case Section::kPeft:
      for (const auto& [key, own] : kNemoAdapterKeys) {
        if (knob == own) return absl::StrCat("policy.megatron_cfg.peft.", key);
      }
      break;
    case Section::kDdp:
    case Section::kTrain:
    case Section::kDist:
    case Section::kRng:
    case Section::kRerun:
    case Section::kMixedPrecision:
    case Section::kCommOverlap:
    case Section::kDataset:
    case Section::kScheduler:
    case Section::kCheckpoint:
    case Section::kProfiling:
    case Section::kLogger:
    case Section::kTokenizer:
    case Section::kFt:
    case Section::kNvrxStraggler:
    case Section::kInprocessRestart:
    case Section::kArgs:
    case Section::kLaunch:
      break;
  }
  return "";
}

}  // namespace

std::string NemoRlPlace(Knob knob, const YamlNode&) { return PathOf(knob); }

namespace {

class Writer {
 public:
  Writer(const RenderInput& input, LaunchWriter* words, Launch* launch)
      : config_(input.config), words_(*words), launch_(*launch) {}

  void Write(bool whole) {
    Recompute();
    Fp8();
    const bool lora = TrainsLora(config_);
    if (lora) Line(K::peft_scheme, "policy.megatron_cfg.peft.enabled", "true");
    for (int i = 0; i < kKnobCount; ++i) {
      const Knob knob = static_cast<Knob>(i);
      const bool adapter = Row(knob).section == Section::kPeft;
      if (!Chosen(config_.origin(knob)) && !(whole && SaysOfAdapters(knob, config_))) continue;
      if (adapter && (!AdaptersConfigured(config_) || (lora && knob == K::peft_scheme))) continue;
      if (std::find(std::begin(kElsewhere), std::end(kElsewhere), knob) != std::end(kElsewhere)) continue;
      const std::string path = adapter && !lora ? "" : PathOf(knob);
      if (!path.empty()) {
        Line(knob, path, config_.Get(knob).is_none() ? "null" : WriteHydraValue(config_.Get(knob)));
      } else if (Config::Given(config_.origin(knob)) && !config_.Get(knob).is_none()) {
        launch_.unspelled.push_back(knob);
      }
    }
    if (!whole) return;
    if (config_.Get(K::fp16).truthy()) Line(K::fp16, "policy.precision", "float16");  // its example has bfloat16
    Rollouts();
    const Value& length = config_.Get(K::seq_length);
    if (!length.is_int()) return;
    Line(K::seq_length, "policy.max_total_sequence_length", absl::StrCat(length.integer()));
    const Value& micro = config_.Get(K::micro_batch_size);
    const int64_t samples = micro.is_int() ? std::max<int64_t>(1, micro.integer()) : 1;
    Line(K::seq_length, "policy.sequence_packing.train_mb_tokens",
         absl::StrCat(SaturatingMul(length.integer(), samples)));
  }

 private:
  void Line(Knob knob, absl::string_view path, absl::string_view value) {
    launch_.words.push_back(words_.At(knob));
    words_.Line(absl::StrCat("++", path, "=", value));
  }

  // A step's samples are cut into whole batches (nemo_rl/distributed/batched_data_dict.py:537), so the prompts that
  // they answer follow the batch. They are as many as the batch where it holds whole groups of answers.
  void Rollouts() {
    const Value& batch = config_.Get(K::global_batch_size);
    if (!Chosen(config_.origin(K::global_batch_size)) || !batch.is_int() || batch.integer() < 1) return;
    Line(K::global_batch_size, "grpo.num_prompts_per_step",
         absl::StrCat(batch.integer() / std::gcd(batch.integer(), kAnswers)));
    Line(K::global_batch_size, "grpo.num_generations_per_prompt", absl::StrCat(kAnswers));
  }

  void Recompute() {
    const Value& granularity = config_.Get(K::recompute_granularity);
    if (!Chosen(config_.origin(K::recompute_granularity))) return;
    Line(K::recompute_granularity, "policy.megatron_cfg.activation_checkpointing",
         granularity.is_none() ? "false" : "true");
    if (granularity.is_none()) return;
    Line(K::recompute_granularity, "policy.megatron_cfg.recompute_granularity", granularity.ToText());
    if (granularity != Value("selective") || config_.Get(K::recompute_modules).is_none()) return;
    Line(K::recompute_modules, "policy.megatron_cfg.recompute_modules",
         WriteHydraValue(config_.Get(K::recompute_modules)));
  }

  void Fp8() {
    const Value& fp8 = config_.Get(K::fp8);
    if (!Chosen(config_.origin(K::fp8)) || fp8.is_none()) return;
    constexpr absl::string_view kFp8 = "policy.megatron_cfg.fp8_cfg.";
    Line(K::fp8, absl::StrCat(kFp8, "enabled"), "true");
    Line(K::fp8, absl::StrCat(kFp8, "fp8"), fp8.ToText());
    Line(K::fp8_recipe, absl::StrCat(kFp8, "fp8_recipe"), config_.Get(K::fp8_recipe).ToText());
    const bool kept = config_.Get(K::fp8_param).truthy() || config_.Get(K::fp8_param_gather).truthy();
    Line(K::fp8_param, absl::StrCat(kFp8, "fp8_param"), kept ? "true" : "false");
  }

  const Config& config_;
  LaunchWriter& words_;
  Launch& launch_;
};

}  // namespace

Launch RenderNemoRl(const RenderInput& input) {
  Launch launch;
  launch.env = input.vars;
  LaunchWriter words("uv run examples/run_grpo.py", &launch);
  const bool whole = IsWhole(input.config);
  if (whole) {
    words.Line("--config");
    words.Word(std::string(kExample));
    if (const Nodes nodes = NodesOf(input.env); nodes.count > 0) {
      words.Line(absl::StrCat("cluster.num_nodes=", nodes.count));
      words.Line(absl::StrCat("cluster.gpus_per_node=", nodes.gpus));
    }
  }
  Writer(input, &words, &launch).Write(whole);
  words.Finish();
  if (!whole) return launch;
  AskForWord("model_name", "the model, by its name on the hub or its folder", "policy.model_name=", "NAME",
             "Qwen/Qwen3-30B-A3B", &launch);
  return launch;
}

}  // namespace flightplan
