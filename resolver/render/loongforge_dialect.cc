#include "resolver/render/loongforge_dialect.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "resolver/render/argparse.h"
#include "resolver/render/hydra_value.h"
#include "resolver/render/loongforge_yaml.h"
#include "resolver/render/megatron_lm_dialect.h"

namespace flightplan {
namespace {

using K = Knob;

// The release of Megatron-Core that the fork started from.
constexpr int kForkRelease = 15;

// baidu-baige/LoongForge@c6275661 loongforge/train/arguments and its documentation.
constexpr FlagSpec kOwnFlags[] = {
    {"--offload-tensors", K::offload_tensors, FlagForm::kList},
    {"--bindpcie", K::bindpcie, FlagForm::kSwitchOn, ValueType::kBool},
    {"--context-parallel-ulysses-degree", K::context_parallel_ulysses_degree, FlagForm::kValue, ValueType::kInt},
    {"--custom-pipeline-layers", K::custom_pipeline_layers},
    {"--custom-virtual-pipeline-layers", K::custom_virtual_pipeline_layers},
    {"--custom-pipeline-recompute-layers", K::custom_pipeline_recompute_layers},
    {"--enable-fa-within-mla", K::enable_fa_within_mla, FlagForm::kSwitchOn, ValueType::kBool},
    {"--variable-seq-lengths", K::variable_seq_lengths, FlagForm::kSwitchOn, ValueType::kBool},
    // They choose the base configuration.
    {"--model-name", K::model_name},
    {"--config-file", K::config_file},
    // Fine-tuning, ChunkPipe and DSA.
    {"--training-phase", K::training_phase},
    {"--sft-dataset-config", K::sft_dataset_config},
    {"--sft-sort-batch", K::sft_sort_batch, FlagForm::kSwitchOn, ValueType::kBool},
    {"--sft-data-streaming", K::sft_data_streaming, FlagForm::kSwitchOn, ValueType::kBool},
    {"--train-on-prompt", K::train_on_prompt, FlagForm::kSwitchOn, ValueType::kBool},
    {"--history-mask-loss", K::history_mask_loss, FlagForm::kSwitchOn, ValueType::kBool},
    {"--packing-sft-data", K::packing_sft_data, FlagForm::kSwitchOn, ValueType::kBool},
    {"--packing-pretrain-data", K::packing_pretrain_data, FlagForm::kSwitchOn, ValueType::kBool},
    {"--use-fixed-seq-lengths", K::use_fixed_seq_lengths, FlagForm::kSwitchOn, ValueType::kBool},
    {"--enable-chunkpipe", K::enable_chunkpipe, FlagForm::kSwitchOn, ValueType::kBool},
    {"--use-dsa-fused", K::use_dsa_fused, FlagForm::kSwitchOn, ValueType::kBool},
    {"--use-dsa-sp-first", K::use_dsa_sp_first, FlagForm::kSwitchOn, ValueType::kBool},
    {"--preprocess-data-on-cpu", K::preprocess_data_on_cpu, FlagForm::kSwitchOn, ValueType::kBool},
    {"--packing-buffer-size", K::packing_buffer_size, FlagForm::kValue, ValueType::kInt},
    {"--padding-side", K::padding_side},
    {"--max-text-length", K::max_text_length, FlagForm::kValue, ValueType::kInt},
    {"--chunksize", K::chunksize, FlagForm::kValue, ValueType::kInt},
    {"--chat-template", K::chat_template},
    // Megatron-LM's, with other choices.
    {"--ckpt-format", K::ckpt_format, FlagForm::kValue, ValueType::kString, "torch|torch_dist|zarr|fsdp_dtensor"},
    {"--cross-entropy-fusion-impl", K::cross_entropy_fusion_impl, FlagForm::kValue, ValueType::kString,
     "native|te|linear"},
};

const FlagTable& Table() {
  static const auto* const kTable = [] {
    auto* table = new FlagTable(kForkRelease);
    table->Add(kOwnFlags);
    return table;
  }();
  return *kTable;
}

}  // namespace

absl::string_view LoongForgeChoices(Knob knob) {
  for (const FlagSpec& spec : kOwnFlags) {
    if (spec.knob == knob) return spec.choices;
  }
  return "";
}

std::optional<Knob> LoongForgeKey(absl::string_view key) {
  if (key == "fp8_param") return K::fp8_param_gather;  // validators.py:74
  if (IsLoongForgeStructure(key)) return std::nullopt;
  if (const auto knob = FindKnob(key); knob.has_value()) return knob;
  const FlagSpec* spec = Table().Find(absl::StrCat("--", absl::StrReplaceAll(key, {{"_", "-"}})));
  return spec == nullptr ? std::nullopt : spec->knob;
}

namespace {

constexpr absl::string_view kOverrideSource = "LoongForge:loongforge/train/parser.py:131";

// One of Hydra's overrides: num_layers=4, +model.foundation.num_layers=4. They change the model's YAML, whose keys win
// over the flags, so they are read last.
class OverrideReader {
 public:
  explicit OverrideReader(ParseResult* out) : out_(out), flags_(out->knobs.size()) {}

  void Read(const Argument& word) {
    absl::string_view text = word.text;
    while (absl::ConsumePrefix(&text, "+")) {
    }
    const size_t sign = text.find('=');
    if (sign == absl::string_view::npos || sign == 0 || absl::StartsWith(text, "~")) {
      return Report(word, "mlm.argparse", Severity::kError, absl::StrCat("argument ", Printable(word.text)),
                    "it belongs to no flag, and is no key=value that Hydra could put into the model's YAML");
    }
    absl::string_view key = text.substr(0, sign);
    const bool component = absl::ConsumePrefix(&key, "model.") && absl::StrContains(key, ".");
    if (component && !absl::ConsumePrefix(&key, "foundation.")) {
      return Report(word, "input.not-judged", Severity::kInfo, Printable(word.text),
                    "LoongForge judges each component on its own; this answer is for the foundation");
    }
    const std::optional<Knob> knob = LoongForgeKey(key);
    if (!knob.has_value()) return Unknown(word, key);
    const absl::StatusOr<Value> value = ReadHydraValue(text.substr(sign + 1));
    if (!value.ok()) {
      return Report(word, "mlm.argparse", Severity::kError, Printable(word.text),
                    std::string(value.status().message()));
    }
    NoteOverwritten(word, *knob, *value);
    out_->knobs.push_back({*knob, *value, word.at});
  }

 private:
  void Report(const Argument& word, absl::string_view rule_id, Severity severity, std::string seen, std::string needs) {
    if (out_->findings.size() >= kMaxParseFindings) return;
    out_->findings.push_back(
        MakeParseFinding(word.at, rule_id, severity, std::move(seen), std::move(needs), kOverrideSource));
  }

  void Unknown(const Argument& word, absl::string_view key) {
    const absl::string_view nearest = NearestKnobName(key);
    if (IsLoongForgeStructure(key) || nearest.empty()) return;
    Report(word, "lf.yaml-unknown-key", Severity::kWarning, Printable(key),
           absl::StrCat("no argument has this name, so LoongForge passes over it; the nearest is ", nearest));
  }

  // A flag said something else.
  void NoteOverwritten(const Argument& word, Knob knob, const Value& value) {
    for (size_t i = 0; i < flags_; ++i) {
      const ParsedKnob& flag = out_->knobs[i];
      if (flag.knob != knob || flag.value == value) continue;
      return Report(word, "lf.yaml-overrides-args", Severity::kInfo, Printable(word.text),
                    absl::StrCat("it wins over the flag, which says ", Printable(flag.value.ToText())));
    }
  }

  ParseResult* out_;
  size_t flags_;  // knobs that flags set, at the front
};

}  // namespace

ParseResult ParseLoongForge(absl::Span<const Argument> args, const Environment&) {
  ArgparseOptions options;
  options.parser_name = "LoongForge";
  std::vector<Argument> overrides;
  options.leftover = &overrides;
  ParseResult result = ParseArguments(args, Table(), options);
  OverrideReader reader(&result);
  for (const Argument& word : overrides) reader.Read(word);
  return result;
}

Launch RenderLoongForge(const RenderInput& input) {
  Environment env = input.env;
  env.core_release = kForkRelease;
  Launch launch = RenderMegatronLm({input.config, env, input.vars});
  for (const FlagSpec& spec : kOwnFlags) {
    if (!spec.knob.has_value() || !input.config.Given(*spec.knob)) continue;
    if (std::find(launch.argv.begin(), launch.argv.end(), spec.flag) != launch.argv.end()) continue;
    const Value& value = input.config.Get(*spec.knob);
    if (spec.form == FlagForm::kSwitchOn) {
      if (value.truthy()) launch.argv.emplace_back(spec.flag);
    } else if (!value.is_none()) {
      launch.argv.emplace_back(spec.flag);
      if (!value.is_list()) launch.argv.push_back(value.ToText());
      for (const Value& item : value.list()) launch.argv.push_back(item.ToText());
    }
    launch.unspelled.erase(std::remove(launch.unspelled.begin(), launch.unspelled.end(), *spec.knob),
                           launch.unspelled.end());
  }
  launch.text = ShellText(launch.env, "torchrun loongforge/train.py", launch.argv);
  launch.words.clear();  // these were of the other program's text
  return launch;
}

}  // namespace flightplan
