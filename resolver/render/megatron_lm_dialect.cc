#include "resolver/render/megatron_lm_dialect.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/catalog/defaults.h"
#include "resolver/render/argparse.h"

namespace flightplan {
namespace {

using K = Knob;

// megatron/post_training/arguments.py: part of the parser only when ModelOpt is installed. No rule reads them.
constexpr FlagSpec kModelOptFlags[] = {
    {"--export-model-type", {}, FlagForm::kValue, ValueType::kString, "GPTModel|HybridModel|MambaModel"},
    {"--export-legacy-megatron", {}, FlagForm::kSwitchOn},
    {"--export-te-mcore-model", {}, FlagForm::kSwitchOn},
    {"--export-default-te-spec", {}, FlagForm::kSwitchOn},
    {"--export-force-local-attention", {}, FlagForm::kSwitchOn},
    {"--export-kv-cache-quant",
     {},
     FlagForm::kValue,
     ValueType::kString,
     "none|fp8|fp8_affine|nvfp4|nvfp4_affine|nvfp4_rotate"},
    {"--export-real-quant-cfg",
     {},
     FlagForm::kValue,
     ValueType::kString,
     "fp8_real_quant|fp8_blockwise_real_quant|None"},
    {"--export-quant-cfg"},
    {"--export-kd-teacher-load"},
    {"--export-kd-teacher-model-config"},
    {"--export-kd-teacher-ckpt-format", {}, FlagForm::kValue, ValueType::kString, "torch|torch_dist|torch_dcp"},
    {"--export-kd-cfg"},
    {"--finetune-hf-dataset"},
    {"--finetune-data-split"},
    {"--finetune-data-files", {}, FlagForm::kList},
    {"--qad-train-target", {}, FlagForm::kValue, ValueType::kString, "base|mtp|both"},
    {"--freeze-base-for-mtp", {}, FlagForm::kSwitchOn},
    {"--export-qk-l2-norm", {}, FlagForm::kSwitchOn},
    {"--export-moe-apply-probs-on-input", {}, FlagForm::kSwitchOn},
    {"--export-offline-model", {}, FlagForm::kSwitchOn},
    {"--modelopt-enabled", {}, FlagForm::kSwitchOn},
    {"--enable-gpt-oss", {}, FlagForm::kSwitchOn},
};

std::string ReleaseName(int release) { return release == kMain ? "main" : absl::StrCat("0.", release); }

// Says in which releases a flag exists, for one that exists elsewhere.
std::string ExplainUnknown(absl::string_view flag) {
  std::string releases;
  for (const internal::FlagRow& row : Flags()) {
    if (flag != row.flag) continue;
    for (int release : kCoreReleases) {
      if (release == kCoreReleases[0] || !row.releases.Contains(release)) continue;  // 0.15: config classes only
      absl::StrAppend(&releases, releases.empty() ? "" : ", ", ReleaseName(release));
    }
  }
  if (!releases.empty()) return absl::StrCat("it exists in ", releases);
  for (const FlagSpec& spec : kModelOptFlags) {
    if (flag == spec.flag) return "it exists when ModelOpt is installed";
  }
  return "";
}

const FlagTable& TableFor(int release, bool modelopt) {
  static const auto* const kTables = [] {
    auto* tables = new std::map<std::pair<int, bool>, FlagTable>();
    for (int known : kCoreReleases) {
      for (bool with : {false, true}) {
        FlagTable table(known);
        if (with) table.Add(kModelOptFlags);
        tables->emplace(std::make_pair(known, with), std::move(table));
      }
    }
    return tables;
  }();
  return kTables->at({NearestRelease(kCoreReleases, release), modelopt});
}

// ---- writing

struct KnobFlags {
  K knob{};
  std::vector<const internal::FlagRow*> rows;
};

// The flags of each knob in one release, in the order of the knob table. Built once for all releases.
const std::vector<KnobFlags>& FlagsByKnob(int core_release) {
  static const auto* const kByRelease = [] {
    auto* by_release = new std::map<int, std::vector<KnobFlags>>();
    for (int release : kCoreReleases) {
      std::map<K, std::vector<const internal::FlagRow*>> flags;
      for (const internal::FlagRow& row : Flags()) {
        if (row.releases.Contains(release)) flags[row.knob].push_back(&row);
      }
      std::vector<KnobFlags>& list = (*by_release)[release];
      for (auto& [knob, rows] : flags) list.push_back({knob, std::move(rows)});
    }
    return by_release;
  }();
  return kByRelease->at(NearestRelease(kCoreReleases, core_release));
}

std::string ValueText(const Value& value, ValueType type) {
  if (type == ValueType::kFreq && value.is_list()) return value.ToJson();
  return value.ToText();
}

// Appends the words that give the knob this value; false when no flag can say it.
bool Spell(const internal::FlagRow& row, const Value& value, std::vector<std::string>* argv) {
  const bool off = absl::StartsWith(row.flag, "--no-");
  switch (row.form) {
    case FlagForm::kSwitchOn:
      if (!value.truthy()) return false;
      argv->push_back(row.flag);
      return true;
    case FlagForm::kSwitchOff:
      if (value.truthy()) return false;
      argv->push_back(row.flag);
      return true;
    case FlagForm::kSwitchPair:
      if (value.truthy() == off) return false;
      argv->push_back(row.flag);
      return true;
    case FlagForm::kValue:
      argv->push_back(row.flag);
      argv->push_back(ValueText(value, row.type));
      return true;
    case FlagForm::kList:
    case FlagForm::kListOrEmpty:
    case FlagForm::kListOfThree:
      break;
  }
  if (value.is_list() && value.list().empty() && row.form != FlagForm::kListOrEmpty) return false;
  argv->push_back(row.flag);
  if (!value.is_list()) argv->push_back(value.ToText());
  for (const Value& item : value.list()) argv->push_back(item.ToText());
  return true;
}

bool SpellAny(const std::vector<const internal::FlagRow*>& rows, const Value& value, std::vector<std::string>* argv) {
  return std::any_of(rows.begin(), rows.end(), [&](const internal::FlagRow* row) { return Spell(*row, value, argv); });
}

bool SameValue(const Value& a, const Value& b) { return a == b && a.is_bool() == b.is_bool(); }

// ---- names of the command line

void SetFrom(Config* config, K from, K to, const Value& value) {
  if (!config->Given(from) || config->Given(to)) return;
  config->Set(to, value, config->origin(from));
}

void NameActivation(Config* config) {
  const absl::string_view function = config->Get(K::activation_func).text();
  const bool gated = config->Get(K::gated_linear_unit).truthy();
  SetFrom(config, K::activation_func, K::swiglu, function == "silu" && gated);
  SetFrom(config, K::activation_func, K::squared_relu, function == "squared_relu");
  SetFrom(config, K::activation_func, K::quick_geglu, function == "quick_gelu" && gated);
}

void NamePipeline(Config* config) {
  const bool by_layout = config->Given(K::pipeline_model_parallel_layout);
  const bool by_layers = config->Given(K::num_layers_per_virtual_pipeline_stage);
  if (by_layout || by_layers) return;  // upstream derives the virtual size from them
  SetFrom(config, K::virtual_pipeline_model_parallel_size, K::num_virtual_stages_per_pipeline_rank,
          config->Get(K::virtual_pipeline_model_parallel_size));
}

}  // namespace

ParseResult ParseMegatronLm(absl::Span<const Argument> args, const Environment& env) {
  const FlagTable& table = TableFor(env.core_release, env.packages.find("modelopt") != env.packages.end());
  ArgparseOptions options;
  options.explain_unknown = ExplainUnknown;
  return ParseArguments(args, table, options);
}

ParseResult ParseMegatronLm(absl::Span<const std::string> argv, const Environment& env) {
  std::vector<Argument> args;
  args.reserve(argv.size());
  for (const std::string& word : argv) args.push_back({word, {static_cast<int>(args.size()), 0, 0}});
  return ParseMegatronLm(args, env);
}

Launch RenderMegatronLm(const RenderInput& input) {
  Launch launch;
  launch.dialect = "megatron-lm";
  launch.env = input.vars;
  const Config& defaults = DefaultsFor(Target::kMegatronLm, input.env.core_release, kMain, input.env.mla);
  for (const auto& [knob, rows] : FlagsByKnob(input.env.core_release)) {
    const Value& value = input.config.Get(knob);
    const Origin origin = input.config.origin(knob);
    if (origin == Origin::kAbsent || origin == Origin::kUpstream) continue;
    const bool is_default = SameValue(value, defaults.Get(knob));
    if (is_default && !input.config.Given(knob)) continue;
    const bool spelled = !value.is_none() && SpellAny(rows, value, &launch.argv);
    if (!spelled && !is_default) launch.unspelled.push_back(knob);
  }
  launch.text = ShellText(launch.env, "torchrun pretrain_gpt.py", launch.argv);
  return launch;
}

void UseMegatronLmNames(Config* config) {
  NameActivation(config);
  NamePipeline(config);
  const Value& groups = config->Get(K::num_query_groups);
  SetFrom(config, K::num_query_groups, K::group_query_attention,
          !groups.is_none() && !config->Get(K::multi_latent_attention).truthy() &&
              groups != config->Get(K::num_attention_heads));
  SetFrom(config, K::fp8_param, K::fp8_param_gather, config->Get(K::fp8_param));
  SetFrom(config, K::fp4_param, K::fp4_param_gather, config->Get(K::fp4_param));
  SetFrom(config, K::persist_layer_norm, K::no_persist_layer_norm, !config->Get(K::persist_layer_norm).truthy());
  SetFrom(config, K::bias_activation_fusion, K::bias_swiglu_fusion, config->Get(K::bias_activation_fusion));
  SetFrom(config, K::bias_activation_fusion, K::bias_gelu_fusion, config->Get(K::bias_activation_fusion));
  SetFrom(config, K::grad_reduce_in_fp32, K::accumulate_allreduce_grads_in_fp32, config->Get(K::grad_reduce_in_fp32));
  SetFrom(config, K::params_dtype, K::bf16, config->Get(K::params_dtype).text() == "bf16");
  SetFrom(config, K::params_dtype, K::fp16, config->Get(K::params_dtype).text() == "fp16");
  SetFrom(config, K::share_embeddings_and_output_weights, K::untie_embeddings_and_output_weights,
          !config->Get(K::share_embeddings_and_output_weights).truthy());
}

}  // namespace flightplan
