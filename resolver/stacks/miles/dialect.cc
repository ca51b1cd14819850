#include "resolver/stacks/miles/dialect.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "resolver/stacks/miles/adapters.h"
#include "resolver/stacks/miles/flags.h"
#include "resolver/stacks/miles/pairs.h"
#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kUnknown = "miles.unknown-flag";

const FlagTable& Table(int core_release) {
  static const auto* const kTables = new RolloutTables(MilesFlags(), MilesFlagsOfLaterReleases());
  return kTables->Of(core_release);
}

// Defaults that miles gives Megatron's flags (reset_arg), and values that stand where nobody gives one.
const std::vector<DefaultKnob>& Defaults() {
  static const auto* const kDefaults = new std::vector<DefaultKnob>{
      {K::distributed_timeout_minutes, 10},  // miles/utils/arguments.py:257
      {K::micro_batch_size, 1},              // :1108
      {K::lr, 1e-6},                         // :1355
      {K::mtp_loss_scaling_factor, 0.2},     // :2453
      {K::seq_length, 4096},                 // miles/backends/megatron_utils/arguments.py:25
  };
  return *kDefaults;
}

// miles/backends/sglang_utils/arguments.py:153, miles/utils/arguments.py:1897, miles/dashboard/args.py:49.
constexpr absl::string_view kOfEngine[] = {"--sglang-", "--eval-sglang-", "--router-", "--dashboard-"};

constexpr RolloutCheck kGoesWith = {"miles.goes-with", ""};
constexpr absl::string_view kAdaptersAlone = "miles.adapters-need-bridge";
constexpr absl::string_view kOtherBackend = "miles.other-backend";

// With --megatron-to-hf-mode bridge Megatron-Bridge builds the model from the checkpoint's config.json, and is given
// the layout, recompute and little more of the launch (miles/backends/megatron_utils/model_provider.py:27). These are
// what the provider of the model sets.
constexpr K kOfProvider[] = {
    K::bias_activation_fusion,    K::bias_dropout_fusion,
    K::masked_softmax_fusion,     K::apply_rope_fusion,
    K::cross_entropy_loss_fusion, K::gradient_accumulation_fusion,
    K::moe_grouped_gemm,          K::moe_permute_fusion,
    K::moe_router_dtype,          K::moe_router_load_balancing_type,
    K::moe_shared_expert_overlap, K::overlap_moe_expert_parallel_comm,
    K::delay_wgrad_compute,       K::cuda_graph_impl,
    K::persist_layer_norm,        K::mtp_num_layers,
};

class Reader {
 public:
  Reader(const RolloutTrainer& trainer, absl::Span<const Argument> args, ParseResult* out)
      : shared_(trainer, args, out), out_(*out) {}

  void Read() {
    shared_.TakeWorld();  // miles/utils/arguments.py:2689
    shared_.CheckPairs();
    shared_.CheckLength();
    shared_.SetBatch();  // :3433
    knobs().SetBefore(Defaults());
    adapters_ = TakeAdapters();
    SetTypes();
    SetLength();
    SetReplica();
    TakeMemoryOfOthers();
    HideWhatItsCopyAdds();
    if (words().Text("--megatron-to-hf-mode") == "bridge") {
      for (const K knob : kOfProvider) knobs().Lose(knob);
    }
    shared_.SetIterations();  // miles/backends/megatron_utils/model.py:82
    shared_.CheckStages();
  }

 private:
  const RolloutWords& words() const { return shared_.words(); }
  WrittenKnobs& knobs() { return shared_.knobs(); }
  bool Said(absl::string_view flag) const { return words().Has(flag); }

  // Adapters are made by Megatron-Bridge alone, and for Inkling by miles itself
  // (miles/backends/megatron_utils/model.py:148).
  bool TakeAdapters() {
    const bool bridge =
        words().Text("--megatron-to-hf-mode") == "bridge" || words().Number("--multi-lora-n-adapters").value_or(0) > 0;
    const bool inkling = absl::StrContains(words().Text("--custom-model-provider-path").value_or(""), "inkling");
    if (bridge || inkling || !out_.open_words.empty()) return TakeMilesAdapters(words(), &knobs(), &out_);
    const Argument* const rank = words().Find("--lora-rank");
    if (words().Number("--lora-rank").value_or(0) < 1) return false;
    KeepFinding(MakeParseFinding(rank->at, kAdaptersAlone, Severity::kWarning,
                                 absl::StrCat("--lora-rank ", *words().Number("--lora-rank")),
                                 "without --megatron-to-hf-mode bridge no adapter is made, and all weights are trained",
                                 "miles:miles/backends/megatron_utils/model.py:148"),
                &out_.findings);
    return false;
  }

  // Values that the rules of release 0.16 do not know, and the copy of Megatron-LM does
  // (radixark/Megatron-LM, miles-main at 2e64d788b: megatron/core/transformer/transformer_config.py:1698), and models
  // that no flag says.
  void HideWhatItsCopyAdds() {
    if (Said("--custom-model-provider-path")) out_.others.not_modelled = "models that the launch's own code builds";
    for (const auto& [knob, value] : {std::pair{K::moe_router_score_function, "sqrtsoftplus"},
                                      {K::cross_entropy_fusion_impl, "linear"},
                                      {K::experimental_attention_variant, "dsv4"}}) {
      if (knobs().Of(knob) != Value(value)) continue;
      if (knob == K::experimental_attention_variant) out_.others.not_modelled = "DeepSeek-V4's layers";
      const auto is_it = [knob = knob](const ParsedKnob& parsed) { return parsed.knob == knob; };
      out_.knobs.erase(std::remove_if(out_.knobs.begin(), out_.knobs.end(), is_it), out_.knobs.end());
      knobs().Lose(knob);
    }
  }

  // miles/backends/megatron_utils/arguments.py:15-22; of adapters bridge_lora_helpers.py:194; behind Megatron's checks
  // miles/utils/arguments.py:2714.
  void SetTypes() {
    const std::string optimizer = absl::AsciiStrToLower(knobs().Of(K::optimizer).ToText());
    const bool several = words().Number("--multi-lora-n-adapters").value_or(0) > 0;
    const bool adam = !knobs().Has(K::optimizer) || optimizer == "adam";
    if (!knobs().Unknown(K::optimizer)) {
      const bool shards = adapters_ ? !absl::StrContains(optimizer, "muon") : adam;
      knobs().Force(K::use_distributed_optimizer, shards && !several && !Said("--debug-disable-optimizer"));
    }
    if (!knobs().Unknown(K::fp16)) knobs().Force(K::bf16, !knobs().Of(K::fp16).truthy());
    knobs().Force(K::variable_seq_lengths, true);
    const Value dispatcher = knobs().Of(K::moe_token_dispatcher_type);
    if (!knobs().Has(K::moe_token_dispatcher_type) || dispatcher == Value("allgather") || adapters_) {
      knobs().Set(K::moe_token_dispatcher_type, "alltoall");
    }
    // miles/backends/megatron_utils/arguments.py:37.
    if (!knobs().Has(K::tokenizer_type)) knobs().Set(K::tokenizer_type, "HuggingFaceTokenizer");
  }

  // A microbatch holds tokens up to a number, or so many samples, each as long as the rollout lets it be; what is
  // written as the length is a placeholder (miles/backends/megatron_utils/arguments.py:23).
  void SetLength() {
    shared_.SetPackedLength();  // miles/backends/training_utils/data.py:158
    if (!shared_.packed() && !words().Has("--use-dynamic-batch-size")) {
      std::optional<int64_t> longest = words().Number("--rollout-max-context-len");
      const auto prompt = words().Number("--rollout-max-prompt-len"),
                 answer = words().Number("--rollout-max-response-len");
      const auto in_range = [](std::optional<int64_t> number) { return number.has_value() && *number <= kMostTokens; };
      if (!longest.has_value() && in_range(prompt) && in_range(answer)) longest = *prompt + *answer;
      if (in_range(longest) && *longest > 0) {
        knobs().Force(K::seq_length, *longest);
      } else {
        knobs().Lose(K::seq_length);
      }
    }
    const std::optional<int64_t> length = knobs().Number(K::seq_length);
    if (length.has_value()) knobs().Force(K::max_position_embeddings, *length);
  }

  // A replica of its own for each data-parallel rank, as a launch of its own (miles/utils/arguments.py:2874).
  void SetReplica() {
    const bool apart = Said("--indep-dp") || HasTrainComponent();
    if (!apart) return;
    const std::optional<int64_t> gpus = knobs().GpusOfReplica();
    if (!gpus.has_value()) return knobs().Lose(K::launch_num_gpus);
    knobs().Force(K::launch_num_gpus, *gpus);
  }

  bool HasTrainComponent() const {  // miles/utils/arguments.py:2793
    const Argument* const flag = words().Find("--ft-components");
    if (flag == nullptr || !Said("--use-fault-tolerance")) return false;
    const absl::Span<const Argument> all = words().all();
    for (const Argument* word = flag + 1; word != all.end() && !absl::StartsWith(word->text, "--"); ++word) {
      if (word->text == "train") return true;
    }
    return false;
  }

  // On the same GPUs: the engine, which gives its memory back while a step runs unless it is told not to
  // (miles/utils/arguments.py:3291), and a critic that stays (:3317). The reference model's weights wait on the host
  // (miles/backends/megatron_utils/actor.py:499).
  void TakeMemoryOfOthers() {
    MemoryOfOthers& others = out_.others;
    if (Said("--offload-optimizer-states") || Said("--stream-optimizer-state-to-disk")) {
      others.not_modelled = "optimizer states that leave the GPU between steps";
    }
    if (words().Text("--advantage-estimator") == "ppo" && Said("--no-offload-train")) others.holder = "the critic";
    const bool beside = Said("--colocate") && !Said("--debug-train-only") && !Said("--load-debug-rollout-data");
    if (!beside || !others.holder.empty()) return;
    const bool weights_stay = Said("--offload-rollout-level") && !LevelsHave("weight");
    const bool cache_stays = Said("--offload-rollout-level") && !LevelsHave("kv_cache");
    if (!Said("--no-offload-rollout") && !weights_stay && !cache_stays) return;
    others.holder = "the rollout engine";
    double share = 0;
    const auto said = words().Text("--sglang-mem-fraction-static");
    if (Said("--no-offload-rollout") && said.has_value() && absl::SimpleAtod(*said, &share)) others.gpu_share = share;
  }

  bool LevelsHave(absl::string_view level) const {
    const Argument* const flag = words().Find("--offload-rollout-level");
    const absl::Span<const Argument> all = words().all();
    for (const Argument* word = flag + 1; word != all.end() && !absl::StartsWith(word->text, "--"); ++word) {
      if (word->text == level || word->unknown) return true;
    }
    return absl::EndsWith(flag->text, absl::StrCat("=", level));
  }

  static constexpr int64_t kMostTokens = int64_t{1} << 40;

  RolloutReader shared_;
  ParseResult& out_;
  bool adapters_ = false;
};

const RolloutTrainer& Miles() {
  static const auto* const kMiles = new RolloutTrainer{
      .name = "miles",
      .of_engine = kOfEngine,
      .pairs = MilesPairs(),
      .goes_with = kGoesWith,
      .prompts = {"miles.length", "miles:miles/utils/arguments.py:1084"},
      .length = {"miles.length", "miles:miles/utils/arguments.py:3465"},
      .batch = {"miles.batch-of-rollout", "miles:miles/utils/arguments.py:3435"},
      .stages = {"miles.uneven-stages", "miles:miles/utils/arguments.py:2723"},
  };
  return *kMiles;
}

// A function of the caller's may add flags to the parser (miles/utils/arguments.py:2591).
bool HasFunctions(const RolloutWords& words, const ParseResult& parsed) {
  return words.Has("--rollout-function-path") || words.Has("--custom-generate-function-path") ||
         !parsed.open_words.empty();
}

void JudgeUnknownFlags(const RolloutWords& words, ParseResult* result) {
  DropFlagsOfEngine(Miles(), kUnknown, result);
  for (ParseFinding& entry : result->findings) {
    if (entry.finding.rule_id != kUnknown) continue;
    entry.finding.source = "miles:miles/utils/arguments.py:2676";
    if (!HasFunctions(words, *result)) continue;
    entry.finding.severity = Severity::kWarning;
    absl::StrAppend(&entry.finding.needs, "; or a function of the launch's own adds it");
  }
}

}  // namespace

ParseResult ParseMiles(absl::Span<const Argument> args, const Environment& env) {
  const RolloutWords words(args);
  if (words.Text("--train-backend") == "fsdp") {
    ParseResult result;
    KeepFinding(
        MakeParseFinding(words.Find("--train-backend")->at, kOtherBackend, Severity::kWarning, "--train-backend fsdp",
                         "PyTorch's FSDP trains it, and no line of Megatron: it is not judged",
                         "miles:miles/utils/arguments.py:2694"),
        &result.findings);
    result.elsewhere = "in a trainer other than Megatron";
    RolloutReader(Miles(), args, &result).TakeWorld();
    return result;
  }
  ArgparseOptions options;
  options.parser_name = "miles";
  options.unknown_rule_id = kUnknown;
  ParseResult result = ParseArguments(args, Table(env.core_release), options);
  JudgeUnknownFlags(words, &result);
  Reader(Miles(), args, &result).Read();
  return result;
}

Launch RenderMiles(const RenderInput& input) {
  Launch launch = RenderRollout(input);
  const Value& rank = input.config.Get(K::peft_dim);
  const absl::string_view scheme = input.config.Get(K::peft_scheme).text();
  if ((scheme != "lora" && scheme != "canonical_lora") || !rank.is_int()) return launch;
  std::vector<std::string> words = {"--megatron-to-hf-mode", "bridge",      "--lora-type",
                                    std::string(scheme),     "--lora-rank", absl::StrCat(rank.integer())};
  if (const Value& alpha = input.config.Get(K::peft_alpha); alpha.is_int()) {
    words.insert(words.end(), {"--lora-alpha", absl::StrCat(alpha.integer())});
  }
  std::string targets;
  for (const Value& name : input.config.Get(K::peft_target_modules).list()) {
    absl::StrAppend(&targets, targets.empty() ? "" : ",", name.text());
  }
  words.insert(words.end(), {"--target-modules", targets.empty() ? "all-linear" : targets});
  Append(std::vector<absl::string_view>(words.begin(), words.end()), &launch);
  return launch;
}

}  // namespace flightplan
