#include "resolver/stacks/verl/dialect.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/base/integers.h"
#include "resolver/base/saturating.h"
#include "resolver/read/hydra_value.h"
#include "resolver/stacks/verl/checks.h"
#include "resolver/stacks/verl/words.h"
#include "resolver/stacks/written_knobs.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kActor = "actor_rollout_ref.actor.", kRollout = "actor_rollout_ref.rollout.";

// The knob of a key below the actor.
std::optional<Knob> KnobAt(absl::string_view key) {
  static const auto* const kByPath = [] {
    auto* by_path = new absl::flat_hash_map<absl::string_view, Knob>();
    for (int i = 0; i < kKnobCount; ++i) {
      const absl::string_view path = WordFor(static_cast<Knob>(i), "verl.path");
      if (!path.empty()) by_path->emplace(path, static_cast<Knob>(i));
    }
    return by_path;
  }();
  if (const auto found = kByPath->find(key); found != kByPath->end()) return found->second;
  for (const VerlMap& map : kVerlMaps) {
    if (!absl::ConsumePrefix(&key, map.path)) continue;
    const std::optional<Knob> knob = FindKnob(key);
    return knob.has_value() && Row(*knob).section == map.of ? knob : std::nullopt;
  }
  return std::nullopt;
}

// Defaults of verl's workers that no file of theirs says.
const std::vector<DefaultKnob>& WorkerDefaults() {
  static const auto* const kDefaults = new std::vector<DefaultKnob>{
      {K::grad_reduce_in_fp32, true},               // verl/workers/engine/megatron/transformer_impl.py:461
      {K::overlap_grad_reduce, false},              // as Megatron-Core's class has it
      {K::masked_softmax_fusion, true},             // likewise
      {K::add_bias_linear, false},                  // of the models that Megatron-Bridge reads
      {K::batch_p2p_comm, false},                   // transformer_impl.py:366
      {K::variable_seq_lengths, true},              // :367
      {K::moe_token_dispatcher_type, "alltoall"},   // :369
      {K::moe_router_load_balancing_type, "none"},  // :370
  };
  return *kDefaults;
}

class Reader {
 public:
  Reader(absl::Span<const Argument> args, ParseResult* out) : words_(args), out_(*out), knobs_(out) {}

  void Read() {
    for (const VerlOverride& written : words_.all()) Take(written);
    CheckLists();
    SetDefaults();
    TakeWorld();
    TakeModel();
    SetDerived();
    SetBatch();
    adapters_ = words_.Number("actor_rollout_ref.model.lora.rank", 0).value_or(1) > 0;
    TakeMemoryOfOthers();
    CheckVerl(words_, gpus_, &out_);
  }

 private:
  std::string Actor(absl::string_view key) const { return absl::StrCat(kActor, key); }
  std::string Rollout(absl::string_view key) const { return absl::StrCat(kRollout, key); }

  void Take(const VerlOverride& written) {
    absl::string_view key = written.path;
    if (!absl::ConsumePrefix(&key, kActor)) return;
    const std::optional<Knob> knob = KnobAt(key);
    if (!knob.has_value()) return;
    if (written.unknown) return knobs_.Lose(*knob);
    absl::StatusOr<Value> value = ReadHydraValue(written.text);
    if (!value.ok()) {
      KeepFinding(MakeParseFinding(written.at, "verl.value", Severity::kError,
                                   absl::StrCat(written.path, "=", Printable(written.text)),
                                   std::string(value.status().message()), "verl:verl/trainer/main_ppo.py:166"),
                  &out_.findings);
      return;
    }
    knobs_.Take(*knob, *std::move(value), written.at);
  }

  // The words go as they are into Megatron's config, which takes the letters of a text for its modules.
  void CheckLists() {
    for (const auto& [list, read, source] :
         {std::tuple{K::recompute_modules, knobs_.Of(K::recompute_granularity) == Value("selective"), "1958"},
          std::tuple{K::offload_modules, knobs_.Of(K::fine_grained_activation_offloading).truthy(), "2143"}}) {
      const Value value = knobs_.Of(list);
      if (!read || !value.is_text()) continue;
      KeepFinding(MakeParseFinding(
                      knobs_.Last(list)->at, "verl.value", Severity::kError,
                      absl::StrCat(Name(list), "=", Printable(value.text())),
                      absl::StrCat("a list, for of a text each letter is a module: [", Printable(value.text()), "]"),
                      absl::StrCat("Megatron-LM:megatron/core/transformer/transformer_config.py:", source)),
                  &out_.findings);
    }
  }

  void SetDefaults() {
    std::vector<DefaultKnob> defaults;
    for (int i = 0; i < kKnobCount; ++i) {
      const Knob knob = static_cast<Knob>(i);
      const absl::StatusOr<Value> value = ValueFromJson(WordFor(knob, "verl.default"));
      if (!WordFor(knob, "verl.path").empty() && value.ok()) defaults.push_back({knob, *value});
    }
    defaults.insert(defaults.end(), WorkerDefaults().begin(), WorkerDefaults().end());
    knobs_.SetBefore(defaults);
  }

  // verl/trainer/config/ppo_trainer.yaml:164.
  void TakeWorld() {
    if (words_.all().empty()) return;
    const auto nodes = words_.Number("trainer.nnodes", 1), gpus = words_.Number("trainer.n_gpus_per_node", 8);
    if (knobs_.SetWorld(nodes, gpus)) gpus_ = *nodes * *gpus;
  }

  void TakeModel() {
    const VerlOverride* const path = words_.Find("actor_rollout_ref.model.path");
    if (path == nullptr) return;
    const absl::StatusOr<Value> value = ReadHydraValue(path->text);
    // "$HOME/models/Qwen/Qwen3-30B-A3B" names it by its end, whatever the folder is.
    const size_t slash = path->text.rfind('/');
    const bool end_known =
        !path->unknown || (slash != std::string::npos && path->text.find('$', slash) == std::string::npos);
    out_.other_converter = words_.Bool(Actor("megatron.vanilla_mbridge"), false) != std::optional<bool>(false);
    if (end_known) out_.hf_model = value.ok() && value->is_text() ? std::string(value->text()) : path->text;
  }

  // verl's build of its config (verl/workers/engine/megatron/transformer_impl.py:345).
  void SetDerived() {
    const std::optional<Value> type = words_.Get(Actor("megatron.dtype"), "bfloat16");
    const bool half = type.has_value() && *type == Value("float16");
    knobs_.Set(K::fp16, half);
    knobs_.Set(K::bf16, !half);
    if (!knobs_.Has(K::overlap_p2p_comm)) {
      knobs_.Set(K::overlap_p2p_comm, !knobs_.Of(K::virtual_pipeline_model_parallel_size).is_none() &&
                                          knobs_.Size(K::pipeline_model_parallel_size) > 1);
    }
    // Prediction layers are left out unless they are asked for (verl/utils/megatron_utils.py:1819).
    if (words_.Bool(absl::StrCat(kVerlPredictionLayers, "enable"), false) == std::optional<bool>(false)) {
      knobs_.Force(K::mtp_num_layers, Value());
    }
  }

  // Samples of a step, and what a microbatch holds: whole samples, or as many tokens as a GPU is said to take, times
  // the GPUs that share a sequence (verl/workers/engine_workers.py:354).
  void SetBatch() {
    const auto mini = words_.Number(Actor("ppo_mini_batch_size"), 256), answers = words_.Number(Rollout("n"), 1);
    const auto dynamic = words_.Bool(Actor("use_dynamic_bsz"), false);
    const auto prompt = words_.Number("data.max_prompt_length", 512),
               response = words_.Number("data.max_response_length", 512);
    const auto tokens = words_.Number(Actor("ppo_max_token_len_per_gpu"), 16384);
    if (!dynamic.has_value() || knobs_.Unknown(K::context_parallel_size)) {
      for (const K knob : {K::seq_length, K::micro_batch_size, K::global_batch_size}) knobs_.Lose(knob);
      return;
    }
    if (*dynamic) {
      knobs_.Lose(K::global_batch_size);  // as many microbatches as the samples' lengths make
      knobs_.Set(K::micro_batch_size, 1);
      if (!tokens.has_value()) return knobs_.Lose(K::seq_length);
      return SetLength(SaturatingMul(*tokens, knobs_.Size(K::context_parallel_size)));
    }
    if (mini.has_value() && answers.has_value()) {
      knobs_.Set(K::global_batch_size, SaturatingMul(*mini, *answers));
    } else {
      knobs_.Lose(K::global_batch_size);
    }
    if (!prompt.has_value() || !response.has_value()) return knobs_.Lose(K::seq_length);
    const auto in_range = [](int64_t length) { return length >= 0 && length <= kMostTokens; };
    if (!in_range(*prompt) || !in_range(*response)) return knobs_.Lose(K::seq_length);
    SetLength(*prompt + *response);
  }

  // Padded so that every GPU of a sequence has a share (verl/models/mcore/util.py).
  void SetLength(int64_t length) {
    if (length < 1 || length > kMostTokens) return knobs_.Lose(K::seq_length);
    const int64_t cp = knobs_.Size(K::context_parallel_size);
    const int64_t unit = SaturatingMul(knobs_.Size(K::tensor_model_parallel_size), cp > 1 ? SaturatingMul(2, cp) : 1);
    knobs_.Set(K::seq_length, NextMultiple(length, unit).value_or(std::numeric_limits<int64_t>::max()));
  }

  // On the same GPUs: the engine that makes the rollouts, which gives its memory back between them unless told not to
  // (verl/workers/engine_workers.py:776); the reference model; the critic.
  void TakeMemoryOfOthers() {
    MemoryOfOthers& others = out_.others;
    if (adapters_) TakeAdapters();
    if (words_.all().empty()) return;
    const bool trainer = words_.module().empty() || words_.module() == "verl.trainer.main_ppo";
    out_.engine_apart = !trainer || !words_.Bool("actor_rollout_ref.hybrid_engine", true).value_or(true);
    if (out_.engine_apart) return;
    if (HasCritic()) others.holder = "the critic";
    // Of the actor's model and sizes, and never wrapped for gradients (verl/workers/engine/megatron/
    // transformer_impl.py:471).
    if (HasReference()) others.weight_copies = 1;
    if (!others.holder.empty() || words_.Bool(Rollout("free_cache_engine"), true).value_or(false)) return;
    others.holder = "the rollout engine";
    const std::optional<Value> share = words_.Get(Rollout("gpu_memory_utilization"), 0.5);
    if (share.has_value() && share->is_number()) others.gpu_share = share->real();
  }

  // Of Megatron-Bridge's classes (verl/workers/config/megatron_peft.py:17; Megatron-Bridge peft/utils.py).
  void TakeAdapters() {
    knobs_.Set(K::peft_scheme, "lora");
    for (const VerlAdapterKey& key : kVerlAdapterKeys) {
      const VerlOverride* const written = words_.Find(key.path);
      if (written == nullptr) continue;
      absl::StatusOr<Value> value = ReadHydraValue(written->text);
      if (written->unknown || !value.ok()) {
        out_.others.not_modelled = "LoRA adapters of unknown size";
      } else {
        knobs_.Take(key.knob, *std::move(value), written->at);
      }
    }
  }

  // verl/trainer/ppo/utils.py:79; its parameters stay on the GPU unless they are offloaded. Without its adapters the
  // actor is one, too (ray_trainer.py:360).
  bool HasReference() const {
    const bool asked = words_.Bool(Actor("use_kl_loss"), false).value_or(true) ||
                       words_.Bool("algorithm.use_kl_in_reward", false).value_or(true);
    const bool offloaded = words_.Bool(Actor("megatron.param_offload"), false).value_or(false);
    if (!asked || adapters_) return false;
    return !words_.Bool("actor_rollout_ref.ref.megatron.param_offload", offloaded).value_or(false);
  }
  // :98; its state stays on the GPU unless all of it is offloaded.
  bool HasCritic() const {
    const std::optional<Value> estimator = words_.Get("algorithm.adv_estimator", "gae");
    const std::optional<Value> enabled = words_.Get("critic.enable");
    const bool gae = !estimator.has_value() || *estimator == Value("gae");
    const bool asked = enabled.has_value() && enabled->is_bool() ? enabled->truthy() : gae;
    const bool offloaded = words_.Bool("critic.megatron.param_offload", false).value_or(false) &&
                           words_.Bool("critic.megatron.optimizer_offload", false).value_or(false) &&
                           words_.Bool("critic.megatron.grad_offload", false).value_or(false);
    return asked && !offloaded;
  }

  static constexpr int64_t kMostTokens = int64_t{1} << 40;

  const VerlWords words_;
  ParseResult& out_;
  WrittenKnobs knobs_;
  int64_t gpus_ = 0;       // of the actor; 0: not known
  bool adapters_ = false;  // are trained in place of the weights
};

}  // namespace

ParseResult ParseVerl(absl::Span<const Argument> args, const Environment&) {
  ParseResult result;
  args = AsManyAsAreRead(args, "verl:verl/trainer/main_ppo.py:166", &result);
  Reader(args, &result).Read();
  return result;
}

}  // namespace flightplan
