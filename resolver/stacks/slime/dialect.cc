#include "resolver/stacks/slime/dialect.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/integers.h"
#include "resolver/base/saturating.h"
#include "resolver/read/argparse.h"
#include "resolver/stacks/megatron_lm/dialect.h"
#include "resolver/stacks/required_inputs.h"
#include "resolver/stacks/slime/flags.h"
#include "resolver/stacks/written_knobs.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kUnread = "slime.unread-flag";

// Parsed beside Megatron's flags: slime/utils/arguments.py:1584, slime/backends/sglang_utils/arguments.py:40.
constexpr absl::string_view kOtherParsers[] = {"--sglang-", "--router-"};

const FlagTable& Table(int core_release) {
  static const auto* const kTables = [] {
    auto* tables = new std::vector<FlagTable>();
    for (const int release : kCoreReleases) {
      FlagTable& table = tables->emplace_back(release);
      for (const FlagSpec& flag : SlimeFlags()) {  // reset_arg adds only what Megatron's parser lacks (:19)
        if (table.Find(flag.flag) == nullptr) table.Add({flag});
      }
    }
    return tables;
  }();
  const int known = NearestRelease(kCoreReleases, core_release);
  return (*kTables)[static_cast<size_t>(std::find(kCoreReleases.begin(), kCoreReleases.end(), known) -
                                        kCoreReleases.begin())];
}

// The words as pairs of flag and value, of slime's own flags.
class Words {
 public:
  explicit Words(absl::Span<const Argument> args) : args_(args) {}

  bool clear() const {
    return std::none_of(args_.begin(), args_.end(), [](const Argument& arg) { return arg.unknown; });
  }
  const Argument* Find(absl::string_view flag) const {
    const Argument* found = nullptr;
    for (const Argument& arg : args_) {
      if (arg.text == flag || absl::StartsWith(arg.text, absl::StrCat(flag, "="))) found = &arg;
    }
    return found;
  }
  bool Has(absl::string_view flag) const { return Find(flag) != nullptr; }
  // Empty: not written, or not as a number.
  std::optional<int64_t> Number(absl::string_view flag) const {
    const std::optional<absl::string_view> text = Text(flag);
    int64_t number = 0;
    if (!text.has_value() || !absl::SimpleAtoi(*text, &number)) return std::nullopt;
    return number;
  }
  std::optional<absl::string_view> Text(absl::string_view flag) const {
    const Argument* found = Find(flag);
    if (found == nullptr || found->unknown) return std::nullopt;
    if (found->text != flag) return absl::string_view(found->text).substr(flag.size() + 1);
    const Argument* value = found + 1;
    if (value == args_.end() || value->unknown) return std::nullopt;
    return value->text;
  }

 private:
  const absl::Span<const Argument> args_;
};

// Defaults that slime gives Megatron's flags (reset_arg), and values that stand where nobody gives one.
const std::vector<DefaultKnob>& Defaults() {
  static const auto* const kDefaults = new std::vector<DefaultKnob>{
      {K::distributed_timeout_minutes, 10},  // slime/utils/arguments.py:103
      {K::micro_batch_size, 1},              // :717
      {K::lr, 1e-6},                         // :880
      {K::mtp_loss_scaling_factor, 0.2},     // :1509
      {K::seq_length, 4096},                 // slime/backends/megatron_utils/arguments.py:165
  };
  return *kDefaults;
}

// Set whatever is written: slime/backends/megatron_utils/arguments.py:153-171 and, behind Megatron's checks, :82.
constexpr K kAlwaysOn[] = {K::use_distributed_optimizer,      K::use_persistent_ckpt_worker,
                           K::ckpt_assume_constant_structure, K::ckpt_fully_parallel_load,
                           K::dist_ckpt_save_pre_mcore_014,   K::variable_seq_lengths};

// A flag that slime refuses without another.
struct Partner {
  absl::string_view flag, value;  // value: empty: any
  absl::string_view other, another;
  absl::string_view source;
};
constexpr Partner kPartners[] = {
    {"--use-opd", "", "--opd-type", "", "slime:slime/utils/arguments.py:1788"},
    {"--save-interval", "", "--save", "", "slime:slime/utils/arguments.py:1844"},
    {"--eval-interval", "", "--eval-prompt-data", "--eval-config", "slime:slime/utils/arguments.py:1841"},
    {"--advantage-estimator", "reinforce_plus_plus", "--normalize-advantages", "",
     "slime:slime/utils/arguments.py:1849"},
    {"--advantage-estimator", "reinforce_plus_plus_baseline", "--normalize-advantages", "",
     "slime:slime/utils/arguments.py:1849"},
    {"--get-mismatch-metrics", "", "--custom-tis-function-path", "", "slime:slime/utils/arguments.py:1858"},
    {"--use-dynamic-batch-size", "", "--max-tokens-per-gpu", "", "slime:slime/utils/arguments.py:1868"},
    {"--balance-by-flops", "", "--use-dynamic-batch-size", "", "slime:slime/utils/arguments.py:1873"},
    {"--enable-mtp-training", "", "--mtp-num-layers", "", "slime:slime/utils/arguments.py:2008"},
};

class Reader {
 public:
  Reader(absl::Span<const Argument> args, ParseResult* out) : words_(args), out_(*out), knobs_(out) {}

  void Read() {
    TakeWorld();
    CheckPartners();
    CheckLength();
    SetBatch();
    knobs_.SetBefore(Defaults());
    SetAfter();
    CheckStages();
  }

 private:
  void Refuse(const Argument* at, absl::string_view id, std::string seen, std::string needs, absl::string_view source) {
    out_.findings.push_back(MakeParseFinding(at == nullptr ? SourcePosition() : at->at, id, Severity::kError,
                                             std::move(seen), std::move(needs), source));
  }

  // slime/backends/megatron_utils/arguments.py:206: as many ranks as the actor has GPUs.
  void TakeWorld() {
    const int64_t per_node = words_.Number("--actor-num-gpus-per-node").value_or(8);
    const int64_t nodes = words_.Number("--actor-num-nodes").value_or(1);
    const bool said = words_.Has("--actor-num-gpus-per-node") || words_.Has("--actor-num-nodes");
    const bool read =
        (!words_.Has("--actor-num-nodes") || words_.Number("--actor-num-nodes").has_value()) &&
        (!words_.Has("--actor-num-gpus-per-node") || words_.Number("--actor-num-gpus-per-node").has_value());
    constexpr int64_t kMost = int64_t{1} << 20;
    if (!said || !read || per_node < 1 || nodes < 1 || per_node > kMost || nodes > kMost) return;
    out_.gpus_per_node = per_node;
    knobs_.Force(K::launch_num_gpus, per_node * nodes);
  }

  void CheckPartners() {
    for (const Partner& row : kPartners) {
      const Argument* flag = words_.Find(row.flag);
      if (flag == nullptr || (!row.value.empty() && words_.Text(row.flag) != row.value)) continue;
      if (words_.Has(row.other) || (!row.another.empty() && words_.Has(row.another)) || !words_.clear()) continue;
      Refuse(flag, "slime.goes-with", absl::StrCat(row.flag, row.value.empty() ? "" : " ", row.value),
             absl::StrCat("slime asks for ", row.other, row.another.empty() ? "" : " or ", row.another, " with it"),
             row.source);
    }
  }

  // slime/utils/arguments.py:693 and :2003.
  void CheckLength() {
    if (!words_.clear()) return;
    if (!words_.Has("--rollout-batch-size")) {
      Refuse(nullptr, "slime.length", "no --rollout-batch-size", "slime's parser requires --rollout-batch-size N",
             "slime:slime/utils/arguments.py:693");
    }
    if (words_.Has("--num-rollout") || words_.Has("--num-epoch")) return;
    Refuse(nullptr, "slime.length", "neither --num-rollout nor --num-epoch",
           "training needs a length: --num-rollout N or --num-epoch N", "slime:slime/utils/arguments.py:2003");
  }

  // slime/utils/arguments.py:1972: the samples of a rollout, in as many steps as are said.
  void SetBatch() {
    const std::optional<int64_t> prompts = words_.Number("--rollout-batch-size");
    const int64_t samples = words_.Number("--n-samples-per-prompt").value_or(1);
    const std::optional<int64_t> steps = words_.Number("--num-steps-per-rollout");
    if (!prompts.has_value() || !steps.has_value() || *steps < 1) return;
    const int64_t batch = SaturatingMul(*prompts, samples) / *steps;
    const std::optional<int64_t> said = knobs_.Number(K::global_batch_size);
    if (said.has_value() && *said != batch) {
      Refuse(words_.Find("--global-batch-size"), "slime.batch-of-rollout", absl::StrCat("--global-batch-size ", *said),
             absl::StrCat("rollout-batch-size ", *prompts, " x n-samples-per-prompt ", samples,
                          " / num-steps-per-rollout ", *steps, " is ", batch),
             "slime:slime/utils/arguments.py:1974");
    } else if (batch > 0) {
      knobs_.Set(K::global_batch_size, batch);
    }
  }

  void SetAfter() {
    for (const K knob : kAlwaysOn) knobs_.Force(knob, true);
    // slime/backends/megatron_utils/arguments.py:157, :88.
    if (!knobs_.Unknown(K::fp16)) knobs_.Force(K::bf16, !knobs_.Of(K::fp16).truthy());
    const Value dispatcher = knobs_.Of(K::moe_token_dispatcher_type);
    if (!knobs_.Has(K::moe_token_dispatcher_type) || dispatcher == Value("allgather")) {
      knobs_.Set(K::moe_token_dispatcher_type, "alltoall");
    }
    SetLengths();
    // slime/backends/megatron_utils/arguments.py:182.
    if (!knobs_.Has(K::tokenizer_type)) knobs_.Set(K::tokenizer_type, "HuggingFaceTokenizer");
    SetIterations();
  }

  // slime/backends/megatron_utils/model.py:203.
  void SetIterations() {
    const std::optional<int64_t> rollouts = words_.Number("--num-rollout"),
                                 prompts = words_.Number("--rollout-batch-size");
    const int64_t samples = words_.Number("--n-samples-per-prompt").value_or(1);
    const std::optional<int64_t> batch = knobs_.Number(K::global_batch_size);
    if (rollouts.has_value() && prompts.has_value() && batch.value_or(0) > 0) {
      knobs_.Force(K::train_iters,
                   std::max<int64_t>(1, SaturatingMul(SaturatingMul(*rollouts, *prompts), samples) / *batch));
    } else {
      knobs_.Lose(K::train_iters);
    }
  }

  // Samples of any length are packed up to the tokens of a GPU, times the GPUs that share a sequence
  // (slime/backends/megatron_utils/data.py:47): for memory, one sequence of that length. What is written as the length
  // is a placeholder there, which no step comes to hold.
  void SetLengths() {
    const std::optional<int64_t> tokens = words_.Number("--max-tokens-per-gpu");
    if (words_.Has("--use-dynamic-batch-size") && tokens.has_value() && *tokens > 0 && *tokens <= kMostTokens) {
      const int64_t cp = knobs_.Size(K::context_parallel_size);
      const int64_t tp = knobs_.Size(K::tensor_model_parallel_size);
      const int64_t batch = knobs_.Size(K::micro_batch_size);
      const int64_t pad = SaturatingMul(kPadding, tp);  // of each GPU's share
      const std::optional<int64_t> share = NextMultiple((*tokens - 1) / batch + 1, pad);
      if (!knobs_.Unknown(K::context_parallel_size) && !knobs_.Unknown(K::tensor_model_parallel_size)) {
        knobs_.Force(K::seq_length, SaturatingMul(share.value_or(kTooLong), cp));
        packed_ = true;
      }
    }
    const std::optional<int64_t> length = knobs_.Number(K::seq_length),
                                 most = knobs_.Number(K::max_position_embeddings);
    if (!length.has_value() || knobs_.Unknown(K::max_position_embeddings)) return;
    if (!most.has_value() || (packed_ && *most < *length)) knobs_.Force(K::max_position_embeddings, *length);
  }

  // slime/backends/megatron_utils/arguments.py:91.
  void CheckStages() {
    const int64_t stages = knobs_.Number(K::pipeline_model_parallel_size).value_or(1);
    if (stages != 1 || knobs_.Unknown(K::pipeline_model_parallel_size)) return;
    for (const K knob : {K::num_layers_in_first_pipeline_stage, K::num_layers_in_last_pipeline_stage}) {
      const ParsedKnob* said = knobs_.Last(knob);
      if (said == nullptr || said->value.is_none()) continue;
      out_.findings.push_back(MakeParseFinding(said->at, "slime.uneven-stages", Severity::kError,
                                               absl::StrCat(Name(knob), "=", said->value.ToText()),
                                               "layers of a first or last stage are said only of a pipeline",
                                               "slime:slime/backends/megatron_utils/arguments.py:91"));
      Finding& finding = out_.findings.back().finding;
      finding.observed = {{std::string(Name(knob)), said->value}, {"pipeline_model_parallel_size", Value(stages)}};
      finding.fixes = {{Assignment{knob, "", Value()}}};
    }
  }

  static constexpr int64_t kPadding = 128;  // slime/utils/arguments.py:1422
  static constexpr int64_t kMostTokens = int64_t{1} << 40, kTooLong = std::numeric_limits<int64_t>::max();

  const Words words_;
  ParseResult& out_;
  WrittenKnobs knobs_;
  bool packed_ = false;
};

}  // namespace

ParseResult ParseSlime(absl::Span<const Argument> args, const Environment& env) {
  ArgparseOptions options;
  options.parser_name = "slime";
  options.unknown_rule_id = kUnread;
  std::vector<Argument> strays;  // parse_known_args passes over them
  options.leftover = &strays;
  ParseResult result = ParseArguments(args, Table(env.core_release), options);
  const auto of_others = [](const ParseFinding& entry) {
    return entry.finding.rule_id == kUnread &&
           std::any_of(std::begin(kOtherParsers), std::end(kOtherParsers),
                       [&](absl::string_view start) { return absl::StartsWith(entry.finding.seen, start); });
  };
  result.findings.erase(std::remove_if(result.findings.begin(), result.findings.end(), of_others),
                        result.findings.end());
  for (ParseFinding& entry : result.findings) {
    if (entry.finding.rule_id != kUnread) continue;
    entry.finding.severity = Severity::kWarning;
    entry.finding.source = "slime:slime/backends/megatron_utils/arguments.py:195";  // ignore_unknown_args
    absl::StrAppend(&entry.finding.needs, "; it passes over it in silence");
  }
  Reader(args, &result).Read();
  return result;
}

Launch RenderSlime(const RenderInput& input) {
  std::string program = "python3 train.py";
  if (const Nodes nodes = NodesOf(input.env); nodes.count > 0) {
    absl::StrAppend(&program, " --actor-num-nodes ", nodes.count, " --actor-num-gpus-per-node ", nodes.gpus,
                    " --colocate");
  }
  Launch launch = WriteMegatronFlags(input, program);
  const Value &length = input.config.Get(K::seq_length), &batch = input.config.Get(K::micro_batch_size);
  const Value& cp = input.config.Get(K::context_parallel_size);
  if (length.is_int() && batch.is_int() && cp.is_int() && cp.integer() > 0) {
    const int64_t tokens = SaturatingMul(length.integer(), batch.integer()) / cp.integer();
    const std::string words = absl::StrCat("--use-dynamic-batch-size --max-tokens-per-gpu ", tokens);
    Ask({"max_tokens_per_gpu", "tokens of a microbatch on each GPU: as many as the plan counts with", words, words, ""},
        words, &launch);
  }
  for (const auto& [name, what, flag, example] :
       {std::tuple{"hf_checkpoint", "the model, as Hugging Face has it", "--hf-checkpoint", "/models/Qwen3-30B-A3B"},
        std::tuple{"prompt_data", "the prompts", "--prompt-data", "/data/prompts.jsonl"},
        std::tuple{"num_rollout", "how many rollouts to train on", "--num-rollout", "3000"},
        std::tuple{"rollout_batch_size", "prompts of a rollout", "--rollout-batch-size", "32"}}) {
    AskForWord(name, what, absl::StrCat(flag, " "), "VALUE", example, &launch);
  }
  return launch;
}

}  // namespace flightplan
