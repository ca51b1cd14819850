#include "resolver/judge/missing_inputs.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "resolver/catalog/spellings.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/input_format.h"

namespace flightplan {
namespace {

using K = Knob;

// A value that a start takes. `knobs`: one of them is enough. `when`: null, or whether this launch takes it.
struct Input {
  absl::string_view rule_id, area;
  Severity severity;
  absl::Span<const K> knobs;
  absl::string_view seen, needs, source;
  bool (*when)(const Environment& env, const Config& config) = nullptr;
};

// Tokenizers that are read from a path, which other stacks take from the model's folder.
bool ReadsATokenizer(const Environment& env, const Config& config) {
  constexpr absl::string_view kTypes[] = {
      "HuggingFaceTokenizer", "TikTokenizer", "SentencePieceTokenizer", "GPTSentencePieceTokenizer", "Llama2Tokenizer",
      "MultimodalTokenizer",  "SFTTokenizer"};
  const Value& type = config.Get(K::tokenizer_type);
  return StackOf(env).tokenizer_model && type.is_text() &&
         std::find(std::begin(kTypes), std::end(kTypes), type.text()) != std::end(kTypes);
}

constexpr K kLength[] = {K::train_iters, K::train_samples};
constexpr K kRate[] = {K::lr};
constexpr K kTokenizerPath[] = {K::tokenizer_model};
constexpr K kTokenizer[] = {K::tokenizer_type, K::vocab_file};
// Those of which the data is another's, too: fine-tuning may name mock data of its own, RL makes its own.
constexpr K kData[] = {K::data_path,       K::mock_data, K::data_args_path, K::per_split_data_args_path,
                       K::train_data_path, K::sft,       K::perform_rl_step};

constexpr Input kInputs[] = {
    {"start.train-length", "schedule", Severity::kError, kLength, "neither --train-iters nor --train-samples",
     "training needs a length: --train-iters N or --train-samples N", "Megatron-LM:megatron/training/training.py:2586"},
    {"start.learning-rate", "schedule", Severity::kError, kRate, "no --lr",
     "the schedule needs a learning rate: --lr VALUE", "Megatron-LM:megatron/core/optimizer_param_scheduler.py:148"},
    {"start.data", "data", Severity::kWarning, kData, "neither --data-path nor --mock-data",
     "training needs data: --data-path PREFIX, or --mock-data; without either the dataset's builder opens a file that "
     "is none",
     "Megatron-LM:megatron/core/datasets/blended_megatron_dataset_builder.py:468"},
    {"start.tokenizer", "data", Severity::kWarning, kTokenizer, "no --tokenizer-type",
     "the script takes a tokenizer of its own (pretrain_gpt.py: GPT-2's) and downloads it: say --tokenizer-type, "
     "NullTokenizer for mock data",
     "Megatron-LM:pretrain_gpt.py:527"},
    {"start.tokenizer-model", "data", Severity::kError, kTokenizerPath, "no --tokenizer-model",
     "a tokenizer of this --tokenizer-type is read from a path or a Hugging Face name: --tokenizer-model PATH",
     "Megatron-LM:megatron/core/tokenizers/megatron_tokenizer.py:73", ReadsATokenizer},
};

// Words of a whole launch say the model's size; fewer are a sketch of one.
bool IsWhole(const Reading& reading, const Environment& env) {
  const Stack& stack = StackOf(env);
  const Knowledge& knowledge = reading.knowledge;
  // The fork's own checks ask for the same; a container's values stand in its recipe.
  if (!stack.command_line || stack.fork || reading.format != kShellFormat || reading.no_launch) return false;
  if (!knowledge.own_parser || !knowledge.clear || !knowledge.elsewhere.empty() || knowledge.part) return false;
  const auto shown = [&](K knob) { return knowledge.shown.contains(knob) || knowledge.hidden.contains(knob); };
  return shown(K::hidden_size) && (shown(K::num_layers) || shown(K::hybrid_layer_pattern));
}

// A value was given and could not be read ("--lr abc"): that is said of it.
bool IsUnread(const Reading& reading, K knob, const Environment& env) {
  const std::string flag = absl::StrCat(SpellingOf(knob, env), " ");
  const std::vector<ParseFinding>& findings = reading.parsed.findings;
  return std::any_of(findings.begin(), findings.end(),
                     [&](const ParseFinding& parse) { return absl::StartsWith(parse.finding.seen, flag); });
}

}  // namespace

std::vector<Finding> MissingInputs(const Reading& reading, const Environment& env, const Config& config) {
  std::vector<Finding> missing;
  if (!IsWhole(reading, env) || config.Get(K::skip_train).truthy()) return missing;
  for (const Input& input : kInputs) {
    if (input.when != nullptr && !input.when(env, config)) continue;
    bool there = input.rule_id == "start.data" && reading.knowledge.own_loss;  // it brings its data, too
    for (const K knob : input.knobs) {
      there =
          there || config.Get(knob).truthy() || reading.knowledge.hidden.contains(knob) || IsUnread(reading, knob, env);
    }
    if (there) continue;
    Finding finding;
    finding.rule_id = input.rule_id;
    finding.area = input.area;
    finding.severity = input.severity;
    finding.verdict = input.severity == Severity::kError ? Verdict::kWillRun : Verdict::kAdvice;
    finding.stage = "build";
    finding.observed = {{std::string(Name(input.knobs[0])), Value()}};
    finding.seen = std::string(input.seen);
    finding.needs = std::string(input.needs);
    finding.source = input.source;
    missing.push_back(std::move(finding));
  }
  return missing;
}

}  // namespace flightplan
