#include "resolver/stacks/megatron_lm/dialect.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/catalog/defaults.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/plan/stack.h"
#include "resolver/read/argparse.h"
#include "resolver/render/flag_words.h"
#include "resolver/stacks/megatron_lm/program.h"
#include "resolver/stacks/megatron_lm/start.h"
#include "resolver/stacks/required_inputs.h"

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

absl::string_view PackageOf(absl::string_view flag) {
  for (const FlagSpec& spec : kModelOptFlags) {
    if (flag == spec.flag) return "modelopt";
  }
  return "";
}

// Says in which releases a flag exists, for one that exists elsewhere.
std::string ExplainUnknown(absl::string_view flag) {
  if (flag == "--fake-init-process-group") {
    return "some documents on MoE optimisation name it so; the code's flag is --fake-process-group";
  }
  std::string releases;
  for (const internal::FlagRow& row : Flags()) {
    if (flag != row.flag) continue;
    for (int release : kCoreReleases) {
      if (release < kFirstCommandLine || !row.releases.Contains(release)) continue;
      absl::StrAppend(&releases, releases.empty() ? "" : ", ", ReleaseText(release));
    }
  }
  if (!releases.empty()) return absl::StrCat("it exists in ", releases);
  return PackageOf(flag).empty() ? "" : "it exists when ModelOpt is installed";
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

// The spellings of each knob in one release. Built once for all releases.
const std::vector<FlagSpellings>& SpellingsByKnob(int core_release) {
  static const auto* const kByRelease = [] {
    auto* by_release = new std::map<int, std::vector<FlagSpellings>>();
    for (int release : kCoreReleases) {
      std::vector<FlagSpellings>& by_knob = (*by_release)[release];
      by_knob.resize(kKnobCount);
      for (const internal::FlagRow& row : Flags()) {
        if (!row.releases.Contains(release)) continue;
        by_knob[static_cast<size_t>(row.knob)].push_back(SpellingOf(row.flag, row.form, row.type));
      }
    }
    return by_release;
  }();
  return kByRelease->at(NearestRelease(kCoreReleases, core_release));
}

}  // namespace

ParseResult ParseMegatronLm(absl::Span<const Argument> args, const Environment& env, Severity unknown) {
  // Where nobody says what is installed, ModelOpt is: its flags are in no launch without it.
  const bool listed = env.capabilities_known || !env.packages.empty();
  const FlagTable& table = TableFor(env.core_release, !listed || env.packages.contains("modelopt"));
  ArgparseOptions options;
  options.explain_unknown = ExplainUnknown;
  options.package_of = PackageOf;
  options.unknown_severity = unknown;
  return ParseArguments(args, table, options);
}

ParseResult ParseMegatronLm(absl::Span<const Argument> args, const Environment& env) {
  return ParseMegatronLm(args, env, Severity::kError);
}

ParseResult ParseMegatronLm(absl::Span<const std::string> argv, const Environment& env) {
  std::vector<Argument> args;
  args.reserve(argv.size());
  for (const std::string& word : argv) args.push_back({word, {static_cast<int>(args.size()), 0, 0}});
  return ParseMegatronLm(args, env);
}

Launch WriteMegatronFlags(const RenderInput& input, absl::string_view program) {
  Launch launch;
  launch.dialect = "megatron-lm";
  launch.env = input.vars;
  const Config& defaults = DefaultsFor(Target::kMegatronLm, input.env.core_release, kMain, input.env.mla);
  const std::vector<FlagSpellings>& spellings = SpellingsByKnob(input.env.core_release);
  LaunchWriter words(program, &launch);
  size_t known = 0;  // of input.like's words: the first that may be of a knob still to come
  const auto repeat = [&](K knob, const Value& value) {
    if (input.like == nullptr) return false;
    const std::vector<KnobWords>& like = input.like->launch.words;
    while (known < like.size() && like[known].knob < knob) ++known;
    if (known == like.size() || like[known].knob != knob) return false;
    if (!SameWords(value, input.like->config.Get(knob))) return false;
    words.Repeat(input.like->launch, known);
    return true;
  };
  const auto write = [&](K knob) {
    const FlagSpellings& rows = spellings[static_cast<size_t>(knob)];
    const Origin origin = input.config.origin(knob);
    if (origin == Origin::kAbsent || origin == Origin::kUpstream) return;
    const Value& value = input.config.Get(knob);
    if (rows.empty()) return;
    const auto is_default = [&] { return SameWords(value, defaults.Get(knob)); };
    if (origin == Origin::kDefault && is_default()) return;
    const KnobWords begin = words.At(knob);
    if (repeat(knob, value) || (!value.is_none() && WriteFlag(rows, value, &words))) {
      launch.words.push_back(begin);
    } else if (!is_default()) {
      launch.unspelled.push_back(knob);
    }
  };
  if (input.env.target == Target::kMegatronLm) {
    input.config.ForEachNotDefault(write);
  } else {  // another target's defaults are not this command line's
    for (int i = 0; i < kKnobCount; ++i) write(static_cast<K>(i));
  }
  words.Finish();
  return launch;
}

namespace {

// By the program that builds the model.
Launch WriteProgram(absl::string_view launcher, const RenderInput& input) {
  const MegatronProgram& program = MegatronProgramFor(HasLayerPattern(input.config), input.env.core_release);
  const std::optional<Config> told = ToldLayers(input.config, program);
  const Config& config = told.has_value() ? *told : input.config;
  return WriteMegatronFlags({config, input.env, input.vars, input.like, input.benchmark, input.hf_model},
                            absl::StrCat(launcher, " ", program.script));
}

}  // namespace

Launch RenderMegatronLm(const RenderInput& input) {
  Launch launch = WriteProgram(TorchrunWords(input.env), input);
  AskForStart(input, kMegatronStart, &launch);
  return launch;
}

Launch RenderOneGpuCheck(const RenderInput& input) {
  Config config = input.config;
  // megatron/training/arguments.py:1757: not with this dispatcher, whose buffers the check leaves out.
  if (config.Get(K::moe_token_dispatcher_type) == Value("flex")) {
    config.Set(K::moe_token_dispatcher_type, "alltoall", Origin::kDecided);
    config.Set(K::moe_flex_dispatcher_backend, Value(), Origin::kAbsent);
  }
  config.Set(K::fake_process_group, true, Origin::kDecided);
  EnvVars vars = input.vars;
  vars["WORLD_SIZE"] = absl::StrCat(input.env.world_size.value_or(1));
  vars["RANK"] = vars["LOCAL_RANK"] = "0";
  vars["MASTER_ADDR"] = "localhost";
  vars["MASTER_PORT"] = "29500";
  Environment one_gpu = input.env;
  one_gpu.world_size = one_gpu.gpus_per_node = 1;
  const RenderInput check{config, one_gpu, vars, nullptr, /*benchmark=*/true};
  Launch launch = WriteProgram("python", check);
  AskForStart(check, kMegatronStart, &launch);
  return launch;
}

}  // namespace flightplan
