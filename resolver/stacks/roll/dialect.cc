#include "resolver/stacks/roll/dialect.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/integers.h"
#include "resolver/base/path.h"
#include "resolver/base/saturating.h"
#include "resolver/stacks/layered_settings.h"
#include "resolver/stacks/roll/checks.h"
#include "resolver/stacks/roll/devices.h"
#include "resolver/stacks/written_knobs.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr SettingsGrammar kSettings = {.rule_id = "roll.settings",
                                       .source = "ROLL:examples/start_rlvr_pipeline.py:22",
                                       .below = SettingsGrammar::Below::kGroups};

// The roles that a pipeline trains, and the key of its model.
struct Role {
  absl::string_view name, model;
};
constexpr Role kRoles[] = {{"actor_train", "pretrain"},
                           {"student_train", "pretrain"},  // of on-policy distillation (rlvr_config.py:157)
                           {"sft_train", "pretrain"},
                           {"student", "student_pretrain"}};

constexpr int64_t kUsualGpus = 8;       // of a node, base_config.py:244
constexpr int64_t kUsualPrompt = 1024;  // base_config.py:175
constexpr int64_t kUsualSamples = 8;    // of a microbatch, roll/configs/training_args.py:44
constexpr int64_t kUsualRank = 8;       // model_args.py:36
constexpr int64_t kMostTokens = int64_t{1} << 40;

// What mcore_adapter and the strategy set where nothing is written (training_args.py:82, megatron_strategy.py:1154).
const std::vector<DefaultKnob>& Defaults() {
  static const auto* const kDefaults = new std::vector<DefaultKnob>{
      {K::overlap_p2p_comm, true},
      {K::check_for_nan_in_grad, true},
      {K::cuda_graph_modules, Value(Value::List{})},  // "full", as it was written before 0.18
      {K::micro_batch_size, kUsualSamples},
      {K::lr, 5e-5},
      {K::weight_decay, 0.0},
      {K::adam_beta2, 0.999},
  };
  return *kDefaults;
}

bool IsList(ValueType type) { return type == ValueType::kStringList; }

// "a,b" of a list (training_args.py:285, model_args.py:124).
Value Listed(const Value& value) {
  Value::List items;
  for (const absl::string_view item : absl::StrSplit(value.text(), ',')) {
    if (items.size() < kMaxListItems) items.emplace_back(absl::StripAsciiWhitespace(item));
  }
  return Value(std::move(items));
}

class Reader {
 public:
  Reader(const LayeredSettings& settings, ParseResult* out) : s_(settings), out_(*out), knobs_(out) {}

  void Read() {
    const Role* const role = TrainingRole();
    if (role == nullptr) return;
    role_ = std::string(role->name);
    TakeKnobs();
    TakeAdditional();
    TakeModel(*role);
    SetPrecision();
    TakeAdapters();
    TakeWorld();
    knobs_.SetBefore(Defaults());
    SetBatch();
    TakeMemoryOfOthers();
    CheckRoll(s_, role_, knobs_, &out_);
  }

 private:
  std::string At(absl::string_view key) const { return absl::StrCat(role_, ".", key); }
  bool On(const std::string& path) const { return s_.Bool(path, false).value_or(true); }

  // Null: none trains with Megatron, or it cannot be told.
  const Role* TrainingRole() {
    bool other = false;
    for (const Role& role : kRoles) {
      const auto strategy = s_.Find(absl::StrCat(role.name, ".strategy_args.strategy_name"));
      if (!strategy.has_value()) continue;
      if (strategy->value == Value("megatron_train")) return &role;
      other = other || strategy->value.has_value();
    }
    if (!other) {
      if (out_.elsewhere.empty()) out_.elsewhere = "in the settings of the role that trains";
      return nullptr;
    }
    KeepFinding(MakeParseFinding(
                    {}, "input.not-judged", Severity::kInfo, "no role that trains has strategy_name megatron_train",
                    "Megatron does not train here, so that nothing is judged", "ROLL:roll/configs/worker_config.py:22"),
                &out_.findings);
    out_.elsewhere = "in a strategy that is not Megatron's";
    return nullptr;
  }

  // None is an argument that is not given.
  void Take(K knob, const std::string& path, bool splits = true) {
    const std::optional<LayeredSettings::Found> found = s_.Find(path);
    if (!found.has_value()) return;
    if (!found->value.has_value()) return knobs_.Lose(knob);
    if (found->value->is_none()) {
      if (knob == K::mtp_num_layers) keeps_mtp_ = true;
      return;
    }
    const bool list = splits && IsList(Row(knob).type) && found->value->is_text();
    knobs_.Take(knob, list ? Listed(*found->value) : *found->value, found->at);
  }

  void TakeKnobs() {
    for (int i = 0; i < kKnobCount; ++i) {
      const K knob = static_cast<K>(i);
      const std::string key = RollKeyOf(knob);
      if (!key.empty() && Row(knob).section != Section::kPeft) Take(knob, At(key));
    }
    // mcore_adapter drops what a model has of them unless the launch says a number (training_args.py:217).
    if (!keeps_mtp_ && knobs_.Number(K::mtp_num_layers).value_or(0) == 0) knobs_.Set(K::mtp_num_layers, Value());
    if (!knobs_.Has(K::moe_aux_loss_coeff)) Take(K::moe_aux_loss_coeff, At("model_args.moe_aux_loss_coef"));
    Take(K::clip_grad, "max_grad_norm");
  }

  // Fields of the model's configuration by their names, as they are written (model_config.py:138).
  void TakeAdditional() {
    const std::string path = At("strategy_args.strategy_config.additional_configs"), prefix = absl::StrCat(path, ".");
    const auto take = [&](absl::string_view field) {
      const std::optional<K> knob = FindKnob(field);
      if (knob.has_value() && Row(*knob).section == Section::kModel)
        Take(*knob, absl::StrCat(prefix, field), /*splits=*/false);
    };
    if (const YamlNode* map = s_.Map(path); map != nullptr) {
      for (const auto& [field, node] : map->keys) take(field);
    } else if (const std::string file = s_.Text(path); !file.empty()) {
      out_.elsewhere = absl::StrCat("in ", Printable(file));
    }
    for (const auto& [key, found] : s_.overrides()) {
      if (absl::StartsWith(key, prefix)) take(absl::string_view(key).substr(prefix.size()));
    }
  }

  // base_config.py:634, distill_config.py:122.
  void TakeModel(const Role& role) {
    out_.hf_model = s_.Text(At("model_args.model_name_or_path"));
    if (out_.hf_model.empty()) out_.hf_model = s_.Text(std::string(role.model));
  }

  // worker_config.py:328, training_args.py:431.
  void SetPrecision() {
    const std::string config = At("strategy_args.strategy_config.");
    const auto type = s_.Find(At("model_args.dtype"));
    const std::string name = type.has_value() ? s_.Text(At("model_args.dtype")) : "bf16";
    const std::optional<bool> bf16 = s_.Bool(absl::StrCat(config, "bf16"), name == "bf16"),
                              fp16 = s_.Bool(absl::StrCat(config, "fp16"), name == "fp16");
    if (name.empty() || !bf16.has_value() || !fp16.has_value()) return knobs_.Lose(K::bf16);
    for (const K knob : {K::bf16, K::optimizer_bf16}) knobs_.Set(knob, *bf16);
    for (const K knob : {K::fp16, K::optimizer_fp16}) knobs_.Set(knob, *fp16);
    if (*bf16) knobs_.Set(K::grad_reduce_in_fp32, true);
  }

  // One for each expert, of a rank that top-k divides (mcore_adapter/adapters/lora_layer.py:450).
  void TakeAdapters() {
    const auto target = s_.Find(At("model_args.lora_target"));
    const bool none = target.has_value() && target->value.has_value() && target->value->is_none();
    if (!target.has_value() || none) {
      if (s_.Has(At("model_args.freeze_module_prefix"))) out_.others.not_modelled = "frozen parameters";
      return;
    }
    knobs_.Set(K::peft_scheme, "mcore_lora");
    knobs_.Set(K::peft_share_expert_adapters, false);
    knobs_.Set(K::peft_normalize_moe_lora, true);
    knobs_.Set(K::peft_dim, kUsualRank);
    for (const K knob : {K::peft_dim, K::peft_alpha, K::peft_dropout, K::peft_target_modules}) {
      Take(knob, At(RollKeyOf(knob)));
      if (knobs_.Unknown(knob)) out_.others.not_modelled = "LoRA adapters of unknown size";
    }
    if (!knobs_.Has(K::peft_alpha)) knobs_.Set(K::peft_alpha, SaturatingMul(2, knobs_.Size(K::peft_dim)));
    if (s_.Has(At("model_args.additional_target"))) {
      out_.others.not_modelled = "LoRA adapters beside trained weights";
    }
  }

  std::optional<std::vector<int64_t>> DevicesOf(absl::string_view role) const {
    const std::string text = s_.Text(absl::StrCat(role, ".device_mapping"));
    return text.empty() ? std::nullopt : RollDevices(text);
  }

  // A GPU of the mapping has one rank.
  void TakeWorld() {
    const std::optional<std::vector<int64_t>> devices = DevicesOf(role_);
    const std::optional<int64_t> of_node = s_.Number("num_gpus_per_node", kUsualGpus);
    if (!devices.has_value() || devices->empty()) return;
    if (!of_node.has_value() || *of_node < 1 || *of_node > kMostDevices) return;
    std::map<int64_t, int64_t> nodes;
    for (const int64_t device : *devices) ++nodes[device / *of_node];
    const int64_t each = nodes.begin()->second;
    const bool even = std::all_of(nodes.begin(), nodes.end(), [each](const auto& node) { return node.second == each; });
    if (even) {
      knobs_.SetWorld(static_cast<int64_t>(nodes.size()), each);
      return;
    }
    out_.gpus_per_node = *of_node;
    knobs_.Set(K::launch_num_gpus, static_cast<int64_t>(devices->size()));
  }

  // Preferences train on pairs, and make no rollouts (dpo_config.py:79).
  bool pairs() const { return role_ == "actor_train" && s_.Map("actor_infer") == nullptr && s_.whole(); }

  void SetBatch() {
    if (pairs()) knobs_.Set(K::micro_batch_size, SaturatingMul(2, knobs_.Size(K::micro_batch_size)));
    const std::optional<bool> dynamic = s_.Bool(At("use_dynamic_batching_in_train"), false),
                              packs = s_.Bool(At("use_sequence_packing"), false);
    if (!dynamic.has_value() || !packs.has_value()) {
      for (const K knob : {K::seq_length, K::micro_batch_size, K::global_batch_size}) knobs_.Lose(knob);
      return;
    }
    const bool balanced = *packs && s_.Text(At("sequence_packing_args.algorithm")) == "load_balance";
    if (*dynamic || balanced) {
      knobs_.Lose(K::global_batch_size);  // as many microbatches as the samples' lengths make
      knobs_.Force(K::micro_batch_size, 1);
      return SetLength(s_.Number(At(*dynamic ? "max_tokens_per_microbatch_in_train"
                                             : "sequence_packing_args.max_packed_sequence_length_train")));
    }
    SetSteps();
    std::optional<int64_t> length = s_.Number("sequence_length");
    if (!length.has_value() && !s_.Has("sequence_length")) {  // base_config.py:274
      const std::optional<int64_t> prompt = s_.Number("prompt_length", kUsualPrompt),
                                   answer = s_.Number("response_length");
      const bool known = prompt.has_value() && answer.has_value() && *prompt >= 0 && *answer >= 0 &&
                         *prompt <= kMostTokens && *answer <= kMostTokens;
      if (known) length = *prompt + *answer;
    }
    SetLength(length);
  }

  // megatron_strategy.py:1289.
  void SetSteps() {
    const std::optional<int64_t> microbatches = s_.Number(At("training_args.gradient_accumulation_steps"), 1);
    const std::optional<int64_t> world = knobs_.Number(K::launch_num_gpus);
    const std::optional<int64_t> model = knobs_.GpusOfReplica();
    const bool known = microbatches.has_value() && *microbatches >= 1 && world.has_value() && model.has_value() &&
                       *world % *model == 0;
    if (!known || knobs_.Unknown(K::micro_batch_size)) return knobs_.Lose(K::global_batch_size);
    const int64_t samples = SaturatingMul(knobs_.Size(K::micro_batch_size), *microbatches);
    knobs_.Set(K::global_batch_size, SaturatingMul(samples, *world / *model));
  }

  void SetLength(std::optional<int64_t> length) {
    if (!length.has_value() || *length < 1 || *length > kMostTokens) return knobs_.Lose(K::seq_length);
    const int64_t tp = knobs_.Of(K::sequence_parallel).truthy() ? knobs_.Size(K::tensor_model_parallel_size) : 1;
    const int64_t cp = knobs_.Size(K::context_parallel_size);
    const int64_t unit = SaturatingMul(tp, cp > 1 ? SaturatingMul(2, cp) : 1);
    knobs_.Set(K::seq_length, NextMultiple(*length, unit).value_or(std::numeric_limits<int64_t>::max()));
  }

  // Not known: they may.
  bool SharesGpusWith(absl::string_view role) const {
    const auto ours = DevicesOf(role_), theirs = DevicesOf(role);
    if (!ours.has_value() || !theirs.has_value()) return true;
    const std::set<int64_t> own(ours->begin(), ours->end());
    return std::any_of(theirs->begin(), theirs->end(), [&own](int64_t device) { return own.count(device) != 0; });
  }

  // Before a step the engine and the reference model are put onto the host (rlvr_pipeline.py:559, base_worker.py:135);
  // not where rollouts go on beside it, of pipelines without rollouts only where it is asked for (base_config.py:199),
  // and never the critic, whose values are asked for at the same time (rlvr_pipeline.py:621). The optimizer's states
  // are on the host until its step (base_worker.py:77, megatron_strategy.py:1316).
  void TakeMemoryOfOthers() {
    MemoryOfOthers& others = out_.others;
    const bool rolls_out = s_.Map("actor_infer") != nullptr || s_.Map("student_infer") != nullptr;
    const bool waits = rolls_out || s_.Bool("is_offload_optimizer_states_in_train_step", false).value_or(true);
    if (waits && role_ != "sft_train") others.counted_too = "optimizer states that wait on the host while layers run";
    const char* const second = role_ == "student" ? "teacher" : "reference";
    if (!rolls_out && s_.Map(second) != nullptr && SharesGpusWith(second) && !On("is_offload_states")) {
      others.holder = absl::StrCat("the ", second, " model");
    }
    const bool critic = s_.Map("critic") != nullptr && s_.Text("adv_estimator") == "gae";
    if (critic && SharesGpusWith("critic")) others.holder = "the critic";
    const auto ahead = s_.Find("async_generation_ratio");
    const bool async = ahead.has_value() && (!ahead->value.has_value() || ahead->value->real() > 0);
    if (!rolls_out || !async || !SharesGpusWith("actor_infer") || !others.holder.empty()) return;
    others.holder = "the rollout engine";
    const auto share = s_.Find("actor_infer.strategy_args.strategy_config.gpu_memory_utilization");
    if (share.has_value() && share->value.has_value() && share->value->is_number()) {
      others.gpu_share = share->value->real();
    }
  }

  const LayeredSettings& s_;
  ParseResult& out_;
  WrittenKnobs knobs_;
  std::string role_;
  bool keeps_mtp_ = false;
};

}  // namespace

std::string RollKeyOf(Knob knob) { return std::string(WordFor(knob, "roll.path")); }

std::string RollPlace(Knob knob, const YamlNode& root) {
  std::string key = RollKeyOf(knob);
  if (key.empty() && Row(knob).section == Section::kModel) {
    key = absl::StrCat("strategy_args.strategy_config.additional_configs.", Name(knob));
  }
  if (key.empty()) return "";
  for (const Role& role : kRoles) {
    const YamlNode* node = root.Find(role.name);
    for (const char* const below : {"strategy_args", "strategy_name"}) {
      if (node != nullptr) node = node->Find(below);
    }
    if (node != nullptr && node->text == "megatron_train") return absl::StrCat(role.name, ".", key);
  }
  return "";
}

ParseResult ParseRoll(absl::Span<const Argument> args, const Environment& env) {
  ParseResult result;
  args = AsManyAsAreRead(args, "ROLL:examples/start_rlvr_pipeline.py:15", &result);
  LayeredSettings settings(kSettings, env, &result);
  std::optional<std::string> folder, name;
  std::vector<const Argument*> keys;
  for (size_t i = 0; i < args.size(); ++i) {
    absl::string_view word = args[i].text;
    std::optional<std::string>* const to = absl::ConsumePrefix(&word, "--config_path")   ? &folder
                                           : absl::ConsumePrefix(&word, "--config_name") ? &name
                                                                                         : nullptr;
    if (to == nullptr) {
      if (!absl::StartsWith(word, "-")) keys.push_back(&args[i]);
    } else if (absl::ConsumePrefix(&word, "=")) {
      if (!args[i].unknown) *to = std::string(word);
    } else if (i + 1 < args.size() && !args[++i].unknown) {
      *to = args[i].text;
    }
  }
  // Hydra takes the folder from that of the script, which is examples.
  if (name.has_value() && folder.has_value()) {
    settings.AddFile(JoinedPath("examples", absl::StrCat(*folder, "/", *name, ".yaml")));
  } else if (keys.empty()) {
    result.elsewhere = "in the file of --config_name";
  }
  for (const Argument* argument : keys) settings.Override(*argument);
  Reader(settings, &result).Read();
  return result;
}

ParseResult ParseRollYaml(absl::string_view text, const Environment& env) {
  ParseResult result;
  LayeredSettings settings(kSettings, env, &result);
  settings.AddText(text);
  Reader(settings, &result).Read();
  return result;
}

}  // namespace flightplan
