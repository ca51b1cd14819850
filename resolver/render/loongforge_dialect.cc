#include "resolver/render/loongforge_dialect.h"

#include <algorithm>

#include "resolver/render/argparse.h"
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

ParseResult ParseLoongForge(absl::Span<const Argument> args, const Environment&) {
  ArgparseOptions options;
  options.parser_name = "LoongForge";
  return ParseArguments(args, Table(), options);
}

Launch RenderLoongForge(const RenderInput& input) {
  Environment env = input.env;
  env.core_release = kForkRelease;
  Launch launch = RenderMegatronLm({input.config, env, input.vars});
  for (const FlagSpec& spec : kOwnFlags) {
    if (!spec.knob.has_value() || !input.config.Given(*spec.knob)) continue;
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
  return launch;
}

}  // namespace flightplan
