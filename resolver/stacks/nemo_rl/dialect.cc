#include "resolver/stacks/nemo_rl/dialect.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/integers.h"
#include "resolver/base/saturating.h"
#include "resolver/base/work.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/stacks/layered_settings.h"
#include "resolver/stacks/nemo_rl/checks.h"
#include "resolver/stacks/written_knobs.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kPolicy = "policy.", kMegatron = "policy.megatron_cfg.";
constexpr int64_t kMostTokens = int64_t{1} << 40;

// What the policy's workers set, whatever is written (setup.py:1325, 1423-1435).
const std::vector<DefaultKnob>& WorkerDefaults() {
  static const auto* const kDefaults = new std::vector<DefaultKnob>{
      {K::calculate_per_token_loss, true},
      {K::average_in_collective, false},
      {K::check_for_nan_in_grad, true},
  };
  return *kDefaults;
}

class Reader {
 public:
  Reader(const LayeredSettings& settings, ParseResult* out) : settings_(settings), out_(*out), knobs_(out) {}

  void Read() {
    const std::optional<bool> megatron = settings_.Bool("policy.megatron_cfg.enabled", false);
    if (!megatron.has_value() || (!*megatron && !settings_.whole())) {
      if (out_.elsewhere.empty()) out_.elsewhere = "in the settings that policy.megatron_cfg.enabled refers to";
    } else if (!*megatron) {
      return CheckNemoRl(settings_, &out_);  // another backend trains
    }
    TakeKnobs();
    TakeSections();
    SetShared();
    knobs_.SetBefore(WorkerDefaults());
    SetPrecision();
    SetRecompute();
    TakeFp8();
    TakeAdapters();
    TakeWorld();
    SetBatch();
    out_.hf_model = settings_.Text("policy.model_name");
    TakeMemoryOfOthers();
    CheckNemoRl(settings_, &out_);
  }

 private:
  void Take(K knob, absl::string_view path) {
    const std::optional<LayeredSettings::Found> found = settings_.Find(path);
    if (!found.has_value()) return;
    if (!found->value.has_value()) return knobs_.Lose(knob);
    knobs_.Take(knob, *found->value, found->at);
  }

  void TakeKnobs() {
    for (int i = 0; i < kKnobCount; ++i) {
      const absl::string_view path = WordFor(static_cast<K>(i), "nemo_rl.path");
      if (!path.empty()) Take(static_cast<K>(i), absl::StrCat(kPolicy, path));
    }
    // OmegaConf's null is a key that is there: of these it is the class's own.
    if (knobs_.Has(K::offload_modules) && knobs_.Of(K::offload_modules).is_none()) {
      knobs_.Set(K::offload_modules, Value(Value::List{}));
    }
  }

  // Whole classes: the optimizer's by its keyword arguments, the model's by model_overrides; the learning rate's.
  void TakeSections() {
    struct Section {
      absl::string_view below, bridge;
    };
    constexpr Section kSections[] = {{"optimizer", "optimizer"}, {"model_overrides", "model"}, {"scheduler", ""}};
    for (const Section& section : kSections) {
      const std::string prefix = absl::StrCat(kMegatron, section.below, ".");
      const auto take = [&](absl::string_view field) {
        const std::optional<K> knob = section.bridge.empty() ? FindKnob(field) : FindBridgeField(section.bridge, field);
        if (knob.has_value()) Take(*knob, absl::StrCat(prefix, field));
      };
      if (const YamlNode* map = settings_.Map(absl::StrCat(kMegatron, section.below)); map != nullptr) {
        for (const auto& [field, node] : map->keys) take(field);
      }
      for (const auto& [path, found] : settings_.overrides()) {
        if (absl::StartsWith(path, prefix)) take(absl::string_view(path).substr(prefix.size()));
      }
    }
  }

  // Of two classes, by one key (setup.py:1383, 1434).
  void SetShared() {
    if (knobs_.Has(K::optimizer_use_distributed_optimizer)) {
      knobs_.Set(K::use_distributed_optimizer, knobs_.Of(K::optimizer_use_distributed_optimizer));
    }
    if (knobs_.Has(K::overlap_param_gather)) {
      knobs_.Set(K::optimizer_overlap_param_gather, knobs_.Of(K::overlap_param_gather));
    }
  }

  // setup.py:1046.
  void SetPrecision() {
    const std::string type = settings_.Text("policy.precision");
    if (type.empty()) {
      knobs_.Lose(K::bf16);
      return;
    }
    knobs_.Set(K::bf16, type == "bfloat16");
    knobs_.Set(K::fp16, type == "float16");
    knobs_.Set(K::optimizer_bf16, type == "bfloat16");
    knobs_.Set(K::optimizer_fp16, type == "float16");
  }

  // setup.py:1071: what is said of recompute counts where activation_checkpointing asks for it.
  void SetRecompute() {
    const std::optional<bool> on = settings_.Bool(absl::StrCat(kMegatron, "activation_checkpointing"), false);
    if (!on.has_value()) return knobs_.Lose(K::recompute_granularity);
    if (!*on) return;
    const std::string written = settings_.Text(absl::StrCat(kMegatron, "recompute_granularity"));
    const std::string granularity = written.empty() ? "full" : written;
    knobs_.Set(K::recompute_granularity, granularity);
    if (granularity == "full") {
      knobs_.Set(K::recompute_method, "uniform");
      knobs_.Set(K::recompute_num_layers, 1);
      return;
    }
    const auto modules = settings_.Find(absl::StrCat(kMegatron, "recompute_modules"));
    if (modules.has_value() && modules->value.has_value() && !modules->value->is_none()) {
      knobs_.Take(K::recompute_modules, *modules->value, modules->at);
    }
  }

  // setup.py:1172.
  void TakeFp8() {
    const std::string fp8 = absl::StrCat(kMegatron, "fp8_cfg.");
    if (!settings_.Bool(absl::StrCat(fp8, "enabled"), false).value_or(false)) return;
    Take(K::fp8, absl::StrCat(fp8, "fp8"));
    Take(K::fp8_recipe, absl::StrCat(fp8, "fp8_recipe"));
    Take(K::fp8_param, absl::StrCat(fp8, "fp8_param"));
    knobs_.Set(K::fp8_param_gather, knobs_.Of(K::fp8_param).truthy());
    knobs_.Set(K::reuse_grad_buf_for_mxfp8_param_ag,
               knobs_.Of(K::fp8_param).truthy() && knobs_.Of(K::fp8_recipe) == Value("mxfp8"));
  }

  void TakeAdapters() {
    const std::string peft = absl::StrCat(kMegatron, "peft.");
    const std::optional<bool> on = settings_.Bool(absl::StrCat(peft, "enabled"), false);
    if (!on.has_value()) out_.others.not_modelled = "LoRA adapters of unknown size";
    if (!on.value_or(false)) return;
    knobs_.Set(K::peft_scheme, "lora");
    for (const auto& [key, knob] : kNemoAdapterKeys) Take(knob, absl::StrCat(peft, key));
  }

  // Of the policy: nodes of the engine that makes rollouts elsewhere are not its own, nor those of teachers
  // (nemo_rl/algorithms/grpo.py:757-910). What an environment of NeMo-Gym has stands beside the cluster's, but files
  // that a launcher completes count it in (examples/nemo_gym/nemotron-3-ultra/ultra_launch.sh:881), and how many a
  // reward model leaves is not said here.
  void TakeWorld() {
    const auto size = [this](absl::string_view path, std::optional<int64_t> usual) {
      const std::optional<int64_t> number = settings_.Number(path, usual);
      return number.has_value() && *number >= 0 && *number <= kMostGpus ? number : std::nullopt;
    };
    std::optional<int64_t> nodes = size("cluster.num_nodes", std::nullopt),
                           gpus = size("cluster.gpus_per_node", std::nullopt);
    if (!nodes.has_value() || !gpus.has_value() || *nodes < 1 || *gpus < 1) return;
    if (settings_.Bool("env.reward_model.enabled", false).value_or(true)) return;
    const std::optional<int64_t> of_gym = size("env.nemo_gym.num_gpu_nodes", 0);
    if (!of_gym.has_value() || (*of_gym > 0 && *of_gym < *nodes)) return;
    const std::optional<int64_t> of_teachers = TeacherNodes();
    if (!of_teachers.has_value() || *of_teachers >= *nodes) return;
    nodes = *nodes - *of_teachers;
    const bool generates = settings_.Map("policy.generation") != nullptr && !trains_alone();
    if (generates && !settings_.Bool("policy.generation.colocated.enabled", true).value_or(true)) {
      const auto others = size("policy.generation.colocated.resources.num_nodes", 1),
                 their_gpus = size("policy.generation.colocated.resources.gpus_per_node", 0);
      if (!others.has_value() || !their_gpus.has_value()) return;
      if (*nodes == 1) {
        gpus = *gpus - *their_gpus;
      } else {
        nodes = *nodes - *others;
      }
    }
    knobs_.SetWorld(nodes, gpus);
  }

  // Those that stand apart from the policy, one set of nodes for each checkpoint
  // (nemo_rl/models/policy/teacher_worker_group.py:59). Empty: not known here.
  std::optional<int64_t> TeacherNodes() const {
    constexpr absl::string_view kRoot = "on_policy_distillation.";
    const auto at = [&](absl::string_view key) { return absl::StrCat(kRoot, key); };
    const std::optional<bool> distills = settings_.Bool(at("enabled"), false),
                              apart = settings_.Bool(at("non_colocated_teachers.enabled"), false);
    if (!distills.has_value() || !apart.has_value()) return std::nullopt;
    if (!*distills || !*apart) return 0;
    if (settings_.Map(at("non_colocated_teachers.teacher_overrides")) != nullptr) return std::nullopt;
    const YamlNode* const teachers = settings_.Map(at("teacher_model_by_agent_name"));
    const auto each = settings_.Number(at("non_colocated_teachers.default_teacher_cfg.num_nodes"), 1);
    const std::optional<bool> once = settings_.Bool(at("deduplicate_shared_teacher_checkpoints"), true);
    if (teachers == nullptr || !each.has_value() || *each < 1 || *each > kMostGpus || !once.has_value()) {
      return std::nullopt;
    }
    std::set<std::string> models;
    for (const auto& [name, model] : teachers->keys) {
      const std::string path = settings_.Text(at(absl::StrCat("teacher_model_by_agent_name.", name)));
      if (path.empty()) return std::nullopt;
      models.insert(path);
    }
    return SaturatingMul(*each, static_cast<int64_t>(*once ? models.size() : teachers->keys.size()));
  }

  // Supervised training and preferences make no rollouts, whatever their settings say of an engine.
  bool trains_alone() const {
    return settings_.Map("sft") != nullptr || settings_.Map("dpo") != nullptr || settings_.Map("rm") != nullptr;
  }

  // Samples of a microbatch, or as many tokens as fill one, which holds as many sequences as fit.
  void SetBatch() {
    const std::optional<bool> packs = settings_.Bool("policy.sequence_packing.enabled", false),
                              dynamic = settings_.Bool("policy.dynamic_batching.enabled", false);
    if (!packs.has_value() || !dynamic.has_value()) {
      for (const K knob : {K::seq_length, K::micro_batch_size, K::global_batch_size}) knobs_.Lose(knob);
      return;
    }
    if (!*packs && !*dynamic) return SetLength(settings_.Number("policy.max_total_sequence_length"));
    knobs_.Lose(K::global_batch_size);  // as many microbatches as the samples' lengths make
    knobs_.Force(K::micro_batch_size, 1);
    SetLength(settings_.Number(*packs ? "policy.sequence_packing.train_mb_tokens"
                                      : "policy.dynamic_batching.train_mb_tokens"));
  }

  void SetLength(std::optional<int64_t> length) {
    if (!length.has_value() || *length < 1 || *length > kMostTokens) return knobs_.Lose(K::seq_length);
    const int64_t cp = knobs_.Size(K::context_parallel_size);
    const int64_t tp = knobs_.Of(K::sequence_parallel).truthy() ? knobs_.Size(K::tensor_model_parallel_size) : 1;
    const int64_t unit = SaturatingMul(tp, cp > 1 ? SaturatingMul(2, cp) : 1);
    knobs_.Set(K::seq_length, NextMultiple(*length, unit).value_or(std::numeric_limits<int64_t>::max()));
  }

  // The reference model's weights wait on the host (megatron_policy_worker.py:1971), those of one teacher
  // (algorithms/distillation.py:917) and the value model with all that it holds, too (algorithms/ppo.py:1627,
  // megatron_value_worker.py:952); vLLM's and SGLang's engines sleep while a step runs.
  void TakeMemoryOfOthers() {
    MemoryOfOthers& others = out_.others;
    const bool prefers = settings_.Map("dpo") != nullptr, rates = settings_.Map("rm") != nullptr;
    if (prefers || rates) others.sequences_a_sample = 2;  // algorithms/dpo.py:602, rm.py:542
    if (rates) others.counted_too = "logits, which a reward model does not have";
    if (settings_.Bool("policy.draft.enabled", false).value_or(true)) others.not_modelled = "a draft model";
    // Several teachers hand their logits over on the GPU (algorithms/xtoken_off_policy_distillation.py:514).
    if (settings_.Map("teachers") != nullptr) others.holder = "the teacher models";
    const bool colocated = settings_.Bool("policy.generation.colocated.enabled", true).value_or(true);
    out_.engine_apart = trains_alone() || !colocated;
    if (out_.engine_apart || settings_.Text("policy.generation.backend") != "megatron") return;
    others.holder = "the rollout engine";
  }

  const LayeredSettings& settings_;
  ParseResult& out_;
  WrittenKnobs knobs_;
};

}  // namespace

ParseResult ParseNemoRl(absl::Span<const Argument> args, const Environment& env) {
  ParseResult result;
  args = AsManyAsAreRead(args, "NeMo-RL:nemo_rl/utils/config.py:194", &result);
  LayeredSettings settings(kNemoSettings, env, &result);
  std::vector<const Argument*> overrides;
  // Each program has an example of its own that it takes without one.
  const char* unnamed = "in the file that the program takes without --config";
  for (size_t i = 0; i < args.size(); ++i) {
    absl::string_view word = args[i].text;
    const bool file = absl::ConsumePrefix(&word, "--config=") || (word == "--config" && i + 1 < args.size());
    if (file) {
      if (word == "--config") word = args[++i].text;
      unnamed = args[i].unknown ? "in the file of --config" : nullptr;
      if (unnamed == nullptr) settings.AddFile(std::string(word));
    } else if (!absl::StartsWith(word, "-")) {
      overrides.push_back(&args[i]);
    }
  }
  if (unnamed != nullptr) settings.AddUnknownFile(unnamed);
  for (const Argument* argument : overrides) settings.Override(*argument);
  Reader(settings, &result).Read();
  return result;
}

ParseResult ParseNemoRlYaml(absl::string_view text, const Environment& env) {
  ParseResult result;
  LayeredSettings settings(kNemoSettings, env, &result);
  settings.AddText(text);
  Reader(settings, &result).Read();
  return result;
}

bool IsNemoRlChild(absl::string_view text) {
  constexpr absl::string_view kSections[] = {"async_rl",
                                             "checkpointing",
                                             "cluster",
                                             "data",
                                             "data_plane",
                                             "distillation",
                                             "dpo",
                                             "env",
                                             "grpo",
                                             "logger",
                                             "loss_fn",
                                             "metadata",
                                             "policy",
                                             "ppo",
                                             "reward_penalties",
                                             "rm",
                                             "sft",
                                             "teacher",
                                             "teachers",
                                             "value",
                                             "value_loss_fn",
                                             "on_policy_distillation"};
  bool child = false, sections = false, in_defaults = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    Work::Spend(1 + line.size());
    line = line.substr(0, line.find(" #"));
    const absl::string_view words = absl::StripAsciiWhitespace(line);
    if (words.empty() || words[0] == '#' || words == "---") continue;
    const absl::string_view key = line.substr(0, line.find(':'));
    if (line[0] != ' ' && line[0] != '-') {
      in_defaults = key == "defaults";
      if (!in_defaults && !absl::c_linear_search(kSections, key)) return false;
      sections = sections || !in_defaults;
    }
    const absl::string_view name = absl::StripSuffix(absl::StripSuffix(words, "\""), "'");
    child = child || (in_defaults && absl::EndsWith(name, ".yaml"));
  }
  return child && sections;
}

}  // namespace flightplan
