#include "resolver/stacks/rollout_launch.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/integers.h"
#include "resolver/base/saturating.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/megatron_lm/dialect.h"
#include "resolver/stacks/required_inputs.h"
#include "resolver/stacks/rollout_flags.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr int64_t kPadding = 128;  // --data-pad-size-multiplier: slime/utils/arguments.py:1422
constexpr int64_t kMostTokens = int64_t{1} << 40, kTooLong = std::numeric_limits<int64_t>::max();

}  // namespace

RolloutWords::RolloutWords(absl::Span<const Argument> args) : args_(args) {
  for (const Argument& arg : args) {
    const absl::string_view text = arg.text;
    last_[text.substr(0, text.find('='))] = &arg;
  }
}

const Argument* RolloutWords::Find(absl::string_view flag) const {
  const auto found = last_.find(flag);
  return found == last_.end() ? nullptr : found->second;
}

std::optional<absl::string_view> RolloutWords::Text(absl::string_view flag) const {
  const Argument* found = Find(flag);
  if (found == nullptr || found->unknown) return std::nullopt;
  if (found->text != flag) return absl::string_view(found->text).substr(flag.size() + 1);
  const Argument* value = found + 1;
  if (value == args_.end() || value->unknown) return std::nullopt;
  return value->text;
}

std::optional<int64_t> RolloutWords::Number(absl::string_view flag) const {
  const std::optional<absl::string_view> text = Text(flag);
  int64_t number = 0;
  if (!text.has_value() || !absl::SimpleAtoi(*text, &number)) return std::nullopt;
  return number;
}

RolloutTables::RolloutTables(absl::Span<const FlagSpec> own, absl::Span<const absl::string_view> later) {
  const FlagTable newest = later.empty() ? FlagTable() : FlagTable(kMain);
  for (const int release : kCoreReleases) {
    FlagTable& table = tables_.emplace_back(release);
    for (const absl::Span<const FlagSpec> flags : {own, RolloutFlags()}) {
      for (const FlagSpec& flag : flags) {  // reset_arg adds only what Megatron's parser lacks
        if (flag.knob.has_value() || table.Find(flag.flag) == nullptr) table.Add({flag});
      }
    }
    for (const absl::string_view flag : later) {
      if (const FlagSpec* spec = newest.Find(flag); spec != nullptr) table.Add({*spec});
    }
  }
}

const FlagTable& RolloutTables::Of(int core_release) const {
  const auto known = std::find(kCoreReleases.begin(), kCoreReleases.end(), NearestRelease(kCoreReleases, core_release));
  return tables_[static_cast<size_t>(known - kCoreReleases.begin())];
}

void DropFlagsOfEngine(const RolloutTrainer& trainer, absl::string_view unknown_rule_id, ParseResult* result) {
  const auto of_engine = [&](const ParseFinding& entry) {
    return entry.finding.rule_id == unknown_rule_id &&
           std::any_of(trainer.of_engine.begin(), trainer.of_engine.end(),
                       [&](absl::string_view start) { return absl::StartsWith(entry.finding.seen, start); });
  };
  result->findings.erase(std::remove_if(result->findings.begin(), result->findings.end(), of_engine),
                         result->findings.end());
}

void RolloutReader::Refuse(const Argument* at, const RolloutCheck& check, std::string seen, std::string needs) {
  KeepFinding(MakeParseFinding(at == nullptr ? SourcePosition() : at->at, check.rule_id, Severity::kError,
                               std::move(seen), std::move(needs), check.source),
              &out_.findings);
}

void RolloutReader::RefuseWithout(const Argument* at, const RolloutCheck& check, std::string seen, std::string needs) {
  if (clear()) return Refuse(at, check, std::move(seen), std::move(needs));
  out_.not_judged.push_back(absl::StrCat(check.rule_id, ": ", seen, ": ", needs, "; ", Printable(out_.open_words),
                                         ", which cannot be read here, may hold it"));
}

void RolloutReader::TakeWorld() {
  // An engine of its own GPUs gives its memory back only where it is told to (slime/utils/arguments.py:1914).
  out_.engine_apart = clear() && !words_.Has("--colocate") && !words_.Has("--offload") &&
                      !words_.Has("--offload-rollout") && !words_.Has("--offload-train");
  const int64_t per_node = words_.Number("--actor-num-gpus-per-node").value_or(8);
  const int64_t nodes = words_.Number("--actor-num-nodes").value_or(1);
  const bool said = words_.Has("--actor-num-gpus-per-node") || words_.Has("--actor-num-nodes");
  const bool read =
      (!words_.Has("--actor-num-nodes") || words_.Number("--actor-num-nodes").has_value()) &&
      (!words_.Has("--actor-num-gpus-per-node") || words_.Number("--actor-num-gpus-per-node").has_value());
  if (!said || !read || per_node < 1 || nodes < 1 || per_node > kMostGpus || nodes > kMostGpus) return;
  out_.gpus_per_node = per_node;
  knobs_.Force(K::launch_num_gpus, per_node * nodes);
}

void RolloutReader::CheckPairs() {
  for (const RolloutPair& row : trainer_.pairs) {
    const Argument* flag = words_.Find(row.flag);
    if (flag == nullptr || (!row.value.empty() && words_.Text(row.flag) != row.value)) continue;
    const std::string seen = absl::StrCat(row.flag, row.value.empty() ? "" : " ", row.value);
    const RolloutCheck check = {trainer_.goes_with.rule_id, row.source};
    if (row.beside) {
      if (!words_.Has(row.other) || (!row.another.empty() && words_.Text(row.other) != row.another)) continue;
      const std::string other = absl::StrCat(row.other, row.another.empty() ? "" : " ", row.another);
      Refuse(flag, check, seen, absl::StrCat(trainer_.name, " refuses it beside ", other));
      continue;
    }
    if (words_.Has(row.other) || (!row.another.empty() && words_.Has(row.another))) continue;
    RefuseWithout(flag, check, seen,
                  absl::StrCat(trainer_.name, " asks for ", row.other, row.another.empty() ? "" : " or ", row.another,
                               " with it"));
  }
}

void RolloutReader::CheckLength() {
  if (!words_.Has("--rollout-batch-size")) {
    RefuseWithout(nullptr, trainer_.prompts, "no --rollout-batch-size",
                  absl::StrCat(trainer_.name, "'s parser requires --rollout-batch-size N"));
  }
  if (words_.Has("--num-rollout") || words_.Has("--num-epoch")) return;
  RefuseWithout(nullptr, trainer_.length, "neither --num-rollout nor --num-epoch",
                "training needs a length: --num-rollout N or --num-epoch N");
}

void RolloutReader::SetBatch() {
  const std::optional<int64_t> prompts = words_.Number("--rollout-batch-size");
  const int64_t samples = words_.Number("--n-samples-per-prompt").value_or(1);
  const std::optional<int64_t> steps = words_.Number("--num-steps-per-rollout");
  if (!prompts.has_value() || !steps.has_value() || *steps < 1) return;
  const int64_t batch = SaturatingMul(*prompts, samples) / *steps;
  const std::optional<int64_t> said = knobs_.Number(K::global_batch_size);
  if (said.has_value() && *said != batch) {
    Refuse(words_.Find("--global-batch-size"), trainer_.batch, absl::StrCat("--global-batch-size ", *said),
           absl::StrCat("rollout-batch-size ", *prompts, " x n-samples-per-prompt ", samples,
                        " / num-steps-per-rollout ", *steps, " is ", batch));
  } else if (batch > 0) {
    knobs_.Set(K::global_batch_size, batch);
  }
}

void RolloutReader::SetIterations() {
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

void RolloutReader::SetPackedLength() {
  if (!words_.Has("--use-dynamic-batch-size")) return;
  const std::optional<int64_t> tokens = words_.Number("--max-tokens-per-gpu");
  if (!tokens.has_value() && words_.Has("--max-tokens-per-gpu")) knobs_.Lose(K::seq_length);  // "$MAX_TOKENS"
  if (!tokens.has_value() || *tokens < 1 || *tokens > kMostTokens) return;
  const int64_t cp = knobs_.Size(K::context_parallel_size);
  const int64_t tp = knobs_.Size(K::tensor_model_parallel_size);
  const std::optional<int64_t> share = NextMultiple(*tokens, SaturatingMul(kPadding, tp));  // of each GPU's share
  if (knobs_.Unknown(K::context_parallel_size) || knobs_.Unknown(K::tensor_model_parallel_size)) return;
  knobs_.Force(K::seq_length, SaturatingMul(share.value_or(kTooLong), cp));
  knobs_.Force(K::micro_batch_size, 1);
  packed_ = true;
}

void RolloutReader::CheckStages() {
  const int64_t stages = knobs_.Number(K::pipeline_model_parallel_size).value_or(1);
  if (stages != 1 || knobs_.Unknown(K::pipeline_model_parallel_size)) return;
  for (const K knob : {K::num_layers_in_first_pipeline_stage, K::num_layers_in_last_pipeline_stage}) {
    const ParsedKnob* said = knobs_.Last(knob);
    if (said == nullptr || said->value.is_none()) continue;
    ParseFinding found = MakeParseFinding(
        said->at, trainer_.stages.rule_id, Severity::kError, absl::StrCat(Name(knob), "=", said->value.ToText()),
        "layers of a first or last stage are said only of a pipeline", trainer_.stages.source);
    found.finding.observed = {{std::string(Name(knob)), said->value}, {"pipeline_model_parallel_size", Value(stages)}};
    found.finding.fixes = {{Assignment{knob, "", Value()}}};
    KeepFinding(std::move(found), &out_.findings);
  }
}

void RolloutReader::NoteWhatIsNotWeighed() {
  if (words_.Has("--only-train-params-name-list") || words_.Has("--freeze-params-name-list")) {
    out_.others.not_modelled = "frozen parameters";
  }
  if (words_.Has("--use-stateless-adam")) out_.others.not_modelled = "moments that are not kept";
}

Launch RenderRollout(const RenderInput& input) {
  std::string program = "python3 train.py";
  if (const Nodes nodes = NodesOf(input.env); nodes.count > 0) {
    absl::StrAppend(&program, " --actor-num-nodes ", nodes.count, " --actor-num-gpus-per-node ", nodes.gpus,
                    " --colocate");
  }
  Launch launch = WriteMegatronFlags(input, program);
  const Value &length = input.config.Get(K::seq_length), &batch = input.config.Get(K::micro_batch_size);
  const Value& cp = input.config.Get(K::context_parallel_size);
  if (length.is_int() && batch == Value(1) && cp.is_int() && cp.integer() > 0) {
    const int64_t tokens = length.integer() / cp.integer();
    const std::string words = absl::StrCat("--use-dynamic-batch-size --max-tokens-per-gpu ", tokens);
    Ask({"max_tokens_per_gpu", "tokens of a microbatch on each GPU: as many as the plan counts with", words, words, ""},
        words, &launch);
  } else if (length.is_int()) {
    const std::string words = absl::StrCat("--rollout-max-context-len ", length.integer());
    Ask({"rollout_max_context_len", "tokens of a sample: as many as the plan counts with", words, words, ""}, words,
        &launch);
  }
  if (!input.config.Get(K::save_interval).is_none() && input.config.Get(K::save).is_none()) {
    AskForWord("save", "where checkpoints go", "--save ", "FOLDER", "/checkpoints", &launch);
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
