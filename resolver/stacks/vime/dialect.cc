#include "resolver/stacks/vime/dialect.h"

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "resolver/stacks/rollout_launch.h"
#include "resolver/stacks/vime/flags.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kUnread = "vime.unread-flag";

const FlagTable& Table(int core_release) {
  static const auto* const kTables = new RolloutTables(VimeFlags());
  return kTables->Of(core_release);
}

// Defaults that vime gives Megatron's flags (vime/utils/arguments.py, reset_arg), and the length where nobody gives one
// (vime/backends/megatron_utils/arguments.py, _set_default_megatron_args).
const std::vector<DefaultKnob>& Defaults() {
  static const auto* const kDefaults = new std::vector<DefaultKnob>{
      {K::distributed_timeout_minutes, 10}, {K::micro_batch_size, 1}, {K::lr, 1e-6},
      {K::mtp_loss_scaling_factor, 0.2},    {K::seq_length, 4096},
  };
  return *kDefaults;
}

// Set whatever is written: vime/backends/megatron_utils/arguments.py, _set_default_megatron_args and, behind Megatron's
// checks, validate_args.
constexpr K kAlwaysOn[] = {K::use_distributed_optimizer, K::dist_ckpt_save_pre_mcore_014, K::variable_seq_lengths};

constexpr absl::string_view kChecks = "vime:vime/utils/arguments.py (vime_validate_args)";
constexpr absl::string_view kOfEngine[] = {"--vllm-", "--router-"};

constexpr RolloutPair kPairs[] = {
    {.flag = "--use-opd", .other = "--opd-type", .source = kChecks},
    {.flag = "--opd-teacher-load", .other = "--use-opd", .source = kChecks},
    {.flag = "--opd-type", .value = "megatron", .other = "--opd-teacher-load", .source = kChecks},
    {.flag = "--opd-type", .value = "vllm", .other = "--opd-teacher-load", .source = kChecks, .beside = true},
    {.flag = "--save-interval", .other = "--save", .source = kChecks},
    {.flag = "--eval-interval", .other = "--eval-prompt-data", .another = "--eval-config", .source = kChecks},
    {.flag = "--advantage-estimator",
     .value = "reinforce_plus_plus",
     .other = "--normalize-advantages",
     .source = kChecks},
    {.flag = "--advantage-estimator",
     .value = "reinforce_plus_plus_baseline",
     .other = "--normalize-advantages",
     .source = kChecks},
    {.flag = "--get-mismatch-metrics", .other = "--custom-tis-function-path", .source = kChecks},
    {.flag = "--use-dynamic-batch-size", .other = "--max-tokens-per-gpu", .source = kChecks},
    {.flag = "--balance-by-flops", .other = "--use-dynamic-batch-size", .source = kChecks},
    {.flag = "--enable-mtp-training", .other = "--mtp-num-layers", .source = kChecks},
    {.flag = "--use-rollout-logprobs", .other = "--use-tis", .source = kChecks, .beside = true},
    {.flag = "--only-train-params-name-list", .other = "--freeze-params-name-list", .source = kChecks, .beside = true},
};

constexpr RolloutTrainer kVime = {
    .name = "vime",
    .of_engine = kOfEngine,
    .pairs = kPairs,
    .goes_with = {"vime.goes-with", kChecks},
    .prompts = {"vime.length", "vime:vime/utils/arguments.py (add_data_arguments)"},
    .length = {"vime.length", kChecks},
    .batch = {"vime.batch-of-rollout", kChecks},
    .stages = {"vime.uneven-stages", "vime:vime/backends/megatron_utils/arguments.py (validate_args)"},
};

void SetAfter(RolloutReader* reader) {
  WrittenKnobs& knobs = reader->knobs();
  for (const K knob : kAlwaysOn) knobs.Force(knob, true);
  if (!knobs.Unknown(K::fp16)) knobs.Force(K::bf16, !knobs.Of(K::fp16).truthy());
  const Value dispatcher = knobs.Of(K::moe_token_dispatcher_type);
  if (!knobs.Has(K::moe_token_dispatcher_type) || dispatcher == Value("allgather")) {
    knobs.Set(K::moe_token_dispatcher_type, "alltoall");
  }
  reader->SetPackedLength();  // vime/backends/megatron_utils/data.py, get_data_iterator
  if (const auto length = knobs.Number(K::seq_length); length.has_value()) {
    knobs.Force(K::max_position_embeddings, *length);
  }
  if (!knobs.Has(K::tokenizer_type)) knobs.Set(K::tokenizer_type, "HuggingFaceTokenizer");
  reader->SetIterations();
}

// The engine gives its memory back while a step runs, unless it is told not to; a critic waits on the host
// (vime/utils/arguments.py, vime_validate_args).
void TakeMemoryOfOthers(const RolloutWords& words, MemoryOfOthers* others) {
  const bool trains_alone = words.Has("--debug-train-only") || words.Has("--load-debug-rollout-data");
  if (!words.Has("--colocate") || !words.Has("--no-offload-rollout") || trains_alone) return;
  others->holder = "the rollout engine";
  double share = 0;
  const auto said = words.Text("--vllm-gpu-memory-utilization");
  if (said.has_value() && absl::SimpleAtod(*said, &share)) others->gpu_share = share;
}

}  // namespace

ParseResult ParseVime(absl::Span<const Argument> args, const Environment& env) {
  ArgparseOptions options;
  options.parser_name = "vime";
  options.unknown_rule_id = kUnread;
  std::vector<Argument> strays;  // parse_known_args passes over them
  options.leftover = &strays;
  ParseResult result = ParseArguments(args, Table(env.core_release), options);
  DropFlagsOfEngine(kVime, kUnread, &result);
  for (ParseFinding& entry : result.findings) {
    if (entry.finding.rule_id != kUnread) continue;
    entry.finding.severity = Severity::kWarning;
    entry.finding.source = "vime:vime/backends/megatron_utils/arguments.py (megatron_parse_args)";
    absl::StrAppend(&entry.finding.needs, "; it passes over it in silence");
  }
  RolloutReader reader(kVime, args, &result);
  reader.TakeWorld();
  reader.CheckPairs();
  reader.CheckLength();
  reader.SetBatch();
  reader.knobs().SetBefore(Defaults());
  SetAfter(&reader);
  reader.CheckStages();
  reader.NoteWhatIsNotWeighed();
  TakeMemoryOfOthers(reader.words(), &result.others);
  if (reader.words().Has("--dspark-num-draft-layers")) result.others.not_modelled = "a draft model";
  return result;
}

Launch RenderVime(const RenderInput& input) { return RenderRollout(input); }

}  // namespace flightplan
