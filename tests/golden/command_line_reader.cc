// Reads mlm_cli*.jsonl.gz and loongforge*.jsonl.gz: command lines of Megatron-LM and LoongForge, with the environment
// they ran in. The words go through our own parser, so that its faults count as well.
#include <algorithm>
#include <array>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/defaults.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/judge/loongforge_parts.h"
#include "resolver/stacks/loongforge/dialect.h"
#include "resolver/stacks/megatron_lm/dialect.h"
#include "tests/golden/golden_case.h"

namespace flightplan::golden {
namespace {

using Json = rapidjson::Value;

absl::string_view Text(const Json& node) {
  return node.IsString() ? absl::string_view(node.GetString(), node.GetStringLength()) : absl::string_view();
}

// Torch's names of number formats, as the results carry them, and the command line's.
Value ShortDtype(const Value& value) {
  static constexpr std::array<std::pair<const char*, const char*>, 5> kNames = {
      {{"float32", "fp32"}, {"bfloat16", "bf16"}, {"float16", "fp16"}, {"uint8", "fp8"}, {"float64", "fp64"}}};
  for (const auto& [torch_name, name] : kNames) {
    if (value.text() == torch_name) return Value(name);
  }
  return value;
}

// The words as our readers take them.
std::vector<Argument> Words(const Json& argv) {
  std::vector<Argument> words;
  for (const auto& word : argv.GetArray()) {
    words.push_back({std::string(Text(word)), {static_cast<int>(words.size()), 0, 0}});
  }
  return words;
}

// Another word of the same thing, or the input.
bool IsInput(absl::string_view name) {
  return name == "world_size" || name == "use_dist_ckpt" || name == "params_dtype" || name == "model_family" ||
         name == "model_name";
}

// Upstream's process sets RANK itself; everything else is the case's.
void SetEnvironment(const Json& line, Environment* env) {
  env->te = Version::Parse(Text(line["te"]));
  env->torch = Version::Parse(Text(line["torch"]));
  env->gpu_name = std::string(Text(line["gpu"]["name"]));
  env->cc_major = line["gpu"]["cc_major"].GetInt();
  env->capabilities_known = true;
  for (const auto& package : line["packages"].GetObject()) {
    if (!package.value.IsNull()) env->packages[std::string(Text(package.name))] = std::string(Text(package.value));
  }
  if (line.HasMember("files")) {  // of LoongForge: laid into its folder for files of one's own
    for (const auto& file : line["files"].GetObject()) {
      env->model_files[absl::StrCat("configs/models/custom/", Text(file.name))] = std::string(Text(file.value));
    }
  }
  for (const auto& var : line["env"].GetObject()) {
    env->vars[std::string(Text(var.name))] = std::string(Text(var.value));
  }
  int64_t world = 1;
  auto it = env->vars.find("WORLD_SIZE");
  if (it != env->vars.end() && !absl::SimpleAtoi(it->second, &world)) world = 1;
  env->world_size = world;
}

absl::Status ReadFinals(const Json& fields, bool argument, GoldenCase* out) {
  for (const auto& field : fields.GetObject()) {
    const absl::string_view name = Text(field.name);
    if (IsInput(name)) continue;
    if (name == "data_parallel_size") {
      out->data_parallel_size = field.value.GetInt64();
      continue;
    }
    const auto knob = FindKnob(name == "num_experts" ? "num_moe_experts" : name);
    if (!knob.has_value()) {
      out->unmapped.emplace_back(name);
      continue;
    }
    FLIGHTPLAN_ASSIGN_OR_RETURN(const Value value, ToValue(field.value));
    out->finals.push_back({*knob, ShortDtype(value), argument});
  }
  return absl::OkStatus();
}

absl::Status ReadExpectations(const Json& line, GoldenCase* out) {
  out->accept = Text(line["verdict"]) == "accept";
  if (!out->accept) {
    out->rule = std::string(Text(line["rule"]));
    return absl::OkStatus();
  }
  out->num_microbatches = line["num_microbatches"].GetInt64();
  FLIGHTPLAN_RETURN_IF_ERROR(ReadFinals(line["final"], true, out));
  FLIGHTPLAN_RETURN_IF_ERROR(ReadFinals(line["final_transformer"], false, out));
  for (const auto& var : line["env_after"].GetObject()) {
    out->vars.emplace_back(std::string(Text(var.name)), std::string(Text(var.value)));
  }
  return absl::OkStatus();
}

class CommandLineReader : public GoldenReader {
 public:
  CommandLineReader(Target target, int release) : target_(target), release_(release) {}

  absl::StatusOr<GoldenCase> Read(const Json& line) const override {
    GoldenCase out;
    out.id = std::string(Text(line["id"]));
    out.whole_launch = true;
    out.env.target = target_;
    out.env.core_release = release_;
    out.env.written = true;
    SetEnvironment(line, &out.env);
    const std::vector<Argument> words = Words(line["argv"]);
    const bool loongforge = target_ == Target::kLoongForge;
    ParseResult parsed = loongforge ? ParseLoongForge(words, out.env) : ParseMegatronLm(words, out.env);
    for (const ParseFinding& finding : parsed.findings) out.front_end.push_back(finding.finding);
    out.env.mla = std::any_of(parsed.knobs.begin(), parsed.knobs.end(), [](const ParsedKnob& knob) {
      return knob.knob == Knob::multi_latent_attention && knob.value.truthy();
    });
    out.config = DefaultsFor(target_, release_, kMain, out.env.mla);
    ApplyKnobs(parsed.knobs, &out.config);
    out.env.model_file = ModelFileOf(parsed);
    out.parsed = std::move(parsed);
    FLIGHTPLAN_RETURN_IF_ERROR(ReadExpectations(line, &out));
    return out;
  }

 private:
  Target target_;
  int release_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GoldenReader>> MakeMlmCliReader(const std::string& path) {
  const std::string release = ReleaseInName(path);
  int minor = kMain;
  if (!release.empty() && (!absl::SimpleAtoi(absl::StripPrefix(release, "0."), &minor) || minor < 15)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the name must end in @0.<release>"));
  }
  return std::unique_ptr<GoldenReader>(new CommandLineReader(Target::kMegatronLm, minor));
}

absl::StatusOr<std::unique_ptr<GoldenReader>> MakeLoongForgeReader(const std::string&) {
  return std::unique_ptr<GoldenReader>(new CommandLineReader(Target::kLoongForge, kLoongForgeCore));
}

}  // namespace flightplan::golden
