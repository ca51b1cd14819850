#include "resolver/stacks/slime/dialect.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resolver/stacks/rollout_launch.h"
#include "resolver/stacks/slime/flags.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kUnread = "slime.unread-flag";

const FlagTable& Table(int core_release) {
  static const auto* const kTables = new RolloutTables(SlimeFlags());
  return kTables->Of(core_release);
}

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

constexpr RolloutPair kPairs[] = {
    {.flag = "--use-opd", .other = "--opd-type", .source = "slime:slime/utils/arguments.py:1788"},
    {.flag = "--save-interval", .other = "--save", .source = "slime:slime/utils/arguments.py:1844"},
    {.flag = "--eval-interval",
     .other = "--eval-prompt-data",
     .another = "--eval-config",
     .source = "slime:slime/utils/arguments.py:1841"},
    {.flag = "--advantage-estimator",
     .value = "reinforce_plus_plus",
     .other = "--normalize-advantages",
     .source = "slime:slime/utils/arguments.py:1849"},
    {.flag = "--advantage-estimator",
     .value = "reinforce_plus_plus_baseline",
     .other = "--normalize-advantages",
     .source = "slime:slime/utils/arguments.py:1849"},
    {.flag = "--get-mismatch-metrics",
     .other = "--custom-tis-function-path",
     .source = "slime:slime/utils/arguments.py:1858"},
    {.flag = "--use-dynamic-batch-size",
     .other = "--max-tokens-per-gpu",
     .source = "slime:slime/utils/arguments.py:1868"},
    {.flag = "--balance-by-flops",
     .other = "--use-dynamic-batch-size",
     .source = "slime:slime/utils/arguments.py:1873"},
    {.flag = "--enable-mtp-training", .other = "--mtp-num-layers", .source = "slime:slime/utils/arguments.py:2008"},
};

// slime/utils/arguments.py:1584, slime/backends/sglang_utils/arguments.py:40.
constexpr absl::string_view kOfEngine[] = {"--sglang-", "--router-"};

constexpr RolloutTrainer kSlime = {
    .name = "slime",
    .of_engine = kOfEngine,
    .pairs = kPairs,
    .goes_with = {"slime.goes-with", ""},
    .prompts = {"slime.length", "slime:slime/utils/arguments.py:693"},
    .length = {"slime.length", "slime:slime/utils/arguments.py:2003"},
    .batch = {"slime.batch-of-rollout", "slime:slime/utils/arguments.py:1974"},
    .stages = {"slime.uneven-stages", "slime:slime/backends/megatron_utils/arguments.py:91"},
};

void SetAfter(RolloutReader* reader) {
  WrittenKnobs& knobs = reader->knobs();
  for (const K knob : kAlwaysOn) knobs.Force(knob, true);
  // slime/backends/megatron_utils/arguments.py:157, :88.
  if (!knobs.Unknown(K::fp16)) knobs.Force(K::bf16, !knobs.Of(K::fp16).truthy());
  const Value dispatcher = knobs.Of(K::moe_token_dispatcher_type);
  if (!knobs.Has(K::moe_token_dispatcher_type) || dispatcher == Value("allgather")) {
    knobs.Set(K::moe_token_dispatcher_type, "alltoall");
  }
  reader->SetPackedLength();  // slime/backends/megatron_utils/data.py:47
  const std::optional<int64_t> length = knobs.Number(K::seq_length), most = knobs.Number(K::max_position_embeddings);
  if (length.has_value() && !knobs.Unknown(K::max_position_embeddings) &&
      (!most.has_value() || (reader->packed() && *most < *length))) {
    knobs.Force(K::max_position_embeddings, *length);
  }
  // slime/backends/megatron_utils/arguments.py:182.
  if (!knobs.Has(K::tokenizer_type)) knobs.Set(K::tokenizer_type, "HuggingFaceTokenizer");
  reader->SetIterations();  // slime/backends/megatron_utils/model.py:203
}

}  // namespace

ParseResult ParseSlime(absl::Span<const Argument> args, const Environment& env) {
  ArgparseOptions options;
  options.parser_name = "slime";
  options.unknown_rule_id = kUnread;
  std::vector<Argument> strays;  // parse_known_args passes over them
  options.leftover = &strays;
  ParseResult result = ParseArguments(args, Table(env.core_release), options);
  DropFlagsOfEngine(kSlime, kUnread, &result);
  for (ParseFinding& entry : result.findings) {
    if (entry.finding.rule_id != kUnread) continue;
    entry.finding.severity = Severity::kWarning;
    entry.finding.source = "slime:slime/backends/megatron_utils/arguments.py:195";  // ignore_unknown_args
    absl::StrAppend(&entry.finding.needs, "; it passes over it in silence");
  }
  RolloutReader reader(kSlime, args, &result);
  reader.TakeWorld();  // slime/backends/megatron_utils/arguments.py:206
  reader.CheckPairs();
  reader.CheckLength();
  reader.SetBatch();  // slime/utils/arguments.py:1972
  reader.knobs().SetBefore(Defaults());
  SetAfter(&reader);
  reader.CheckStages();
  reader.NoteWhatIsNotWeighed();
  return result;
}

Launch RenderSlime(const RenderInput& input) { return RenderRollout(input); }

}  // namespace flightplan
