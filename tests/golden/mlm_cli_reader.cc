// Reads mlm_cli*.jsonl.gz: Megatron-LM command lines, with the environment they ran in. The words go through our own
// parser, so that its faults count as well.
#include <algorithm>
#include <array>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/defaults.h"
#include "resolver/render/megatron_lm_dialect.h"
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

// Upstream's process sets RANK itself; everything else is the case's.
void SetEnvironment(const Json& line, Environment* env) {
  env->te = Version::Parse(Text(line["te"]));
  env->torch = Version::Parse(Text(line["torch"]));
  env->gpu_name = std::string(Text(line["gpu"]["name"]));
  env->cc_major = line["gpu"]["cc_major"].GetInt();
  env->capabilities_known = true;
  for (const auto& package : line["packages"].GetObject()) {
    env->packages[std::string(Text(package.name))] = std::string(Text(package.value));
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
    if (name == "world_size" || name == "use_dist_ckpt") continue;  // the input, and another name for ckpt_format
    if (name == "data_parallel_size") {
      out->data_parallel_size = field.value.GetInt64();
      continue;
    }
    const auto knob = FindKnob(name);
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

class MlmCliReader : public GoldenReader {
 public:
  explicit MlmCliReader(int release) : release_(release) {}

  absl::StatusOr<GoldenCase> Read(const Json& line) const override {
    GoldenCase out;
    out.id = std::string(Text(line["id"]));
    out.whole_launch = true;
    out.env.target = Target::kMegatronLm;
    out.env.core_release = release_;
    SetEnvironment(line, &out.env);
    std::vector<std::string> argv;
    for (const auto& word : line["argv"].GetArray()) argv.emplace_back(Text(word));
    const ParseResult parsed = ParseMegatronLm(argv, out.env);
    for (const ParseFinding& finding : parsed.findings) out.front_end.push_back(finding.finding);
    out.env.mla = std::any_of(parsed.knobs.begin(), parsed.knobs.end(), [](const ParsedKnob& knob) {
      return knob.knob == Knob::multi_latent_attention && knob.value.truthy();
    });
    out.config = DefaultsFor(Target::kMegatronLm, release_, kMain, out.env.mla);
    ApplyKnobs(parsed.knobs, &out.config);
    FLIGHTPLAN_RETURN_IF_ERROR(ReadExpectations(line, &out));
    return out;
  }

 private:
  int release_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GoldenReader>> MakeMlmCliReader(const std::string& path) {
  const std::string release = ReleaseInName(path);
  int minor = kMain;
  if (!release.empty() && (!absl::SimpleAtoi(absl::StripPrefix(release, "0."), &minor) || minor < 15)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the name must end in @0.<release>"));
  }
  return std::unique_ptr<GoldenReader>(new MlmCliReader(minor));
}

}  // namespace flightplan::golden
