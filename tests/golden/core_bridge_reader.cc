// Reads core_bridge*.jsonl.gz: constructor arguments of the Megatron-Core config classes (flow core) and whole
// Megatron-Bridge containers (flow bridge). Accepted cases list the final values that differ from the class defaults;
// the defaults stand in a file beside the cases.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/defaults.h"
#include "tests/golden/golden_case.h"
#include "tests/support/data_file.h"

namespace flightplan::golden {
namespace {

using Json = rapidjson::Value;

absl::string_view Text(const Json& node) {
  return node.IsString() ? absl::string_view(node.GetString(), node.GetStringLength()) : absl::string_view();
}

// The member, or null when it is absent or null.
const Json* Member(const Json& object, const char* name) {
  auto it = object.FindMember(name);
  return it == object.MemberEnd() || it->value.IsNull() ? nullptr : &it->value;
}

// The knob of a field of a config class: "ddp.x" where such a row exists, else "x" if that section owns it.
std::optional<Knob> FieldKnob(absl::string_view section_name, Section section, absl::string_view field) {
  if (auto exact = FindKnob(absl::StrCat(section_name, ".", field)); exact.has_value()) return exact;
  auto plain = FindKnob(field);
  if (plain.has_value() && Row(*plain).section == section) return plain;
  return std::nullopt;
}

// Sets one knob; a value that no typed message can carry (a dict where upstream wants text) makes the case exempt.
void SetKnob(Knob knob, const Json& node, GoldenCase* out) {
  auto value = ToValue(node);
  if (value.ok()) {
    out->config.Set(knob, *std::move(value), Origin::kCaller);
  } else {
    out->exempt = absl::StrCat(Name(knob), ": ", value.status().message());
  }
}

// Sets a knob by its full name, or notes that there is none.
void SetNamed(absl::string_view name, const Json& node, GoldenCase* out) {
  if (const auto knob = FindKnob(name); knob.has_value()) {
    SetKnob(*knob, node, out);
  } else {
    out->unmapped.emplace_back(name);
  }
}

// Sets every field of a section; a field without a knob is noted. An object with knobs of its own ("dataset.specs.x")
// is noted as given and its fields are set too.
void SetSection(absl::string_view name, Section section, const Json& fields, GoldenCase* out) {
  for (const auto& field : fields.GetObject()) {
    const auto knob = FieldKnob(name, section, Text(field.name));
    if (!knob.has_value()) {
      out->unmapped.push_back(absl::StrCat(name, ".", Text(field.name)));
    } else if (field.value.IsObject() && section == Section::kDataset) {
      out->config.Set(*knob, true, Origin::kCaller);
      SetSection(Name(*knob), section, field.value, out);
    } else {
      SetKnob(*knob, field.value, out);
    }
  }
}

// What the oracle assumes where a case says nothing.
absl::Status SetEnvironment(const Json& env, Environment* out) {
  out->te = Version::Parse("2.12.0");
  out->torch = Version::Parse("2.9.0");
  out->gpu_name = "NVIDIA H100 80GB HBM3";
  out->cc_major = 9;
  // Of the optional kernels its process has a stand-in for TileLang's and none for cuDNN's.
  out->capabilities_known = true;
  out->capabilities.insert("tilelang");
  for (const auto& field : env.GetObject()) {
    const absl::string_view name = Text(field.name);
    const Json& value = field.value;
    if (name == "te") {
      out->te = Version::Parse(Text(value));
    } else if (name == "torch") {
      out->torch = Version::Parse(Text(value));
    } else if (name == "gpu_name") {
      out->gpu_name = std::string(Text(value));
    } else if (name == "cc_major" && value.IsInt()) {
      out->cc_major = value.GetInt();
    } else if (name == "cuda" && value.IsBool()) {
      out->has_cuda = value.GetBool();
    } else if (name == "vars" && value.IsObject()) {
      for (const auto& var : value.GetObject()) out->vars[std::string(Text(var.name))] = std::string(Text(var.value));
    } else {
      return absl::InvalidArgumentError(absl::StrCat("env.", name, " has no place in Environment"));
    }
  }
  return absl::OkStatus();
}

// The named parts of the "bridge" object that are fields of a config class.
constexpr std::array<std::pair<const char*, Section>, 5> kBridgeSections = {{{"train", Section::kTrain},
                                                                             {"rerun", Section::kRerun},
                                                                             {"dist", Section::kDist},
                                                                             {"rng", Section::kRng},
                                                                             {"dataset", Section::kDataset}}};

// Bridge's env_vars section: values must be scalars, which our typed map cannot break.
void SetRecipeVars(const Json& vars, GoldenCase* out) {
  for (const auto& var : vars.GetObject()) {
    if (!var.value.IsString()) {
      out->exempt = absl::StrCat("env_vars.", Text(var.name), ": not text");
      continue;
    }
    out->env.recipe_vars[std::string(Text(var.name))] = std::string(Text(var.value));
  }
}

void SetMixedPrecision(const Json& precision, GoldenCase* out) {
  SetNamed("mixed_precision.configured", Json(true), out);
  if (precision.IsObject()) {
    SetSection("mixed_precision", Section::kMixedPrecision, precision, out);
  } else {
    SetNamed("mixed_precision.recipe", precision, out);
  }
}

// What a Bridge launch has beside the model, DDP and optimizer classes.
void SetBridgeOnly(const Json& in, GoldenCase* out) {
  if (const Json* overlap = Member(in, "comm_overlap")) {
    SetNamed("comm_overlap.configured", Json(true), out);
    SetSection("comm_overlap", Section::kCommOverlap, *overlap, out);
  }
  if (const Json* flex = Member(in, "flex_backend")) SetNamed("launch.flex_backend", *flex, out);
  // What the oracle assumes where a case says nothing.
  rapidjson::Document assumed;
  assumed.Parse(R"({"train_iters": 100, "global_batch_size": 1024, "micro_batch_size": 1})");
  SetSection("train", Section::kTrain, assumed, out);
  SetNamed("launch.provide", Json(false), out);

  const Json* bridge = Member(in, "bridge");
  if (bridge == nullptr) return;
  for (const auto& part : bridge->GetObject()) {
    const absl::string_view name = Text(part.name);
    auto section =
        std::find_if(kBridgeSections.begin(), kBridgeSections.end(), [&](const auto& s) { return name == s.first; });
    if (part.value.IsNull()) continue;
    if (section != kBridgeSections.end()) {
      SetSection(section->first, section->second, part.value, out);
    } else if (name == "mixed_precision") {
      SetMixedPrecision(part.value, out);
    } else if (name == "env_vars") {
      SetRecipeVars(part.value, out);
    } else {
      SetNamed(absl::StrCat("launch.", name), part.value, out);
    }
  }
}

// World size = data-parallel size * TP * PP * CP, unless the case gives it.
void SetWorldSize(const Json& in, GoldenCase* out) {
  auto size = [&](Knob knob) { return std::max<int64_t>(1, out->config.Get(knob).integer()); };
  const Json* data_parallel = Member(in, "data_parallel_size");
  const int64_t model_parallel = size(Knob::tensor_model_parallel_size) * size(Knob::pipeline_model_parallel_size) *
                                 size(Knob::context_parallel_size);
  out->env.world_size = (data_parallel != nullptr ? data_parallel->GetInt64() : 1) * model_parallel;
  if (const Json* world = Member(in, "world_size")) out->env.world_size = world->GetInt64();
}

// The pipeline layout is an object upstream after the checks; our value stays the caller's spelling.
Value FinalValue(const Json& node, absl::Status* status) {
  const Json* input = node.IsObject() ? Member(node, "input") : &node;
  if (input == nullptr) return Value();
  auto value = ToValue(*input);
  if (value.ok()) return *std::move(value);
  *status = value.status();
  return Value();
}

class CoreBridgeReader : public GoldenReader {
 public:
  CoreBridgeReader(std::string release, rapidjson::Document defaults)
      : release_(std::move(release)), defaults_(std::move(defaults)) {}

  absl::StatusOr<GoldenCase> Read(const Json& line) const override {
    GoldenCase out;
    out.id = std::string(Text(line["id"]));
    const Json& in = line["case"];
    const bool bridge = Text(in["flow"]) == "bridge";
    out.env.target = bridge ? Target::kMegatronBridge : Target::kCore;
    out.env.mla = in["mla"].GetBool();
    FLIGHTPLAN_RETURN_IF_ERROR(SetReleases(&out.env));
    FLIGHTPLAN_RETURN_IF_ERROR(SetEnvironment(in["env"], &out.env));
    out.config = DefaultsFor(out.env.target, out.env.core_release, out.env.bridge_release, out.env.mla);
    SetSection("model", Section::kModel, in["model"], &out);
    if (const Json* ddp = Member(in, "ddp")) SetSection("ddp", Section::kDdp, *ddp, &out);
    if (const Json* optimizer = Member(in, "optimizer")) {
      SetSection("optimizer", Section::kOptimizer, *optimizer, &out);
    }
    if (bridge) {
      SetBridgeOnly(in, &out);
      SetWorldSize(in, &out);
    }
    FLIGHTPLAN_RETURN_IF_ERROR(ReadExpectations(line["expect"], bridge, &out));
    return out;
  }

 private:
  // "core-0.17", "bridge-0.5" (with the Megatron-Core release that it pins).
  absl::Status SetReleases(Environment* env) const {
    if (release_.empty()) return absl::OkStatus();
    absl::string_view rest = release_;
    int minor = 0;
    if (absl::ConsumePrefix(&rest, "core-0.") && absl::SimpleAtoi(rest, &minor)) {
      env->core_release = minor;
      return absl::OkStatus();
    }
    if (absl::ConsumePrefix(&rest, "bridge-0.") && absl::SimpleAtoi(rest, &minor)) {
      env->bridge_release = minor;
      env->core_release = StackOf(Target::kMegatronBridge).core_release(minor);
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat("unknown release ", release_));
  }

  absl::Status ReadExpectations(const Json& expect, bool bridge, GoldenCase* out) const {
    out->accept = Text(expect["verdict"]) == "accept";
    if (const Json* rule = Member(expect, "rule")) out->rule = std::string(Text(*rule));
    out->has_warnings = true;
    for (const Json& id : expect["warnings"].GetArray()) out->warnings.emplace_back(Text(id));
    std::sort(out->warnings.begin(), out->warnings.end());
    const Json* result = Member(expect, "result");
    if (result == nullptr) return absl::OkStatus();
    if (const Json* size = Member(*result, "data_parallel_size")) {
      out->finals.push_back({Knob::data_parallel_size, Value(size->GetInt64()), false});
    }
    const std::string model_class = absl::StrCat(bridge ? "bridge" : "core", out->env.mla ? "_mla" : "");
    FLIGHTPLAN_RETURN_IF_ERROR(ReadFinals("model", Section::kModel, model_class, *result, out));
    FLIGHTPLAN_RETURN_IF_ERROR(ReadFinals("ddp", Section::kDdp, "ddp", *result, out));
    return ReadFinals("optimizer", Section::kOptimizer, "optimizer", *result, out);
  }

  // The config classes alone, in the commit that a Bridge release pins.
  bool PinnedByBridge(const Environment& env) const {
    return env.target == Target::kCore && absl::StartsWith(release_, "bridge-");
  }

  // Every field of the class: what the case says, else the class default.
  absl::Status ReadFinals(const char* name, Section section, const std::string& config_class, const Json& result,
                          GoldenCase* out) const {
    const Json* changed = Member(result, name);
    if (changed == nullptr) return absl::OkStatus();
    const Json* defaults = Member(defaults_, config_class.c_str());
    if (defaults == nullptr) return absl::InvalidArgumentError(absl::StrCat("no defaults of class ", config_class));
    for (const auto& field : defaults->GetObject()) {
      const auto knob = FieldKnob(name, section, Text(field.name));
      if (!knob.has_value()) continue;
      auto own = changed->FindMember(field.name);
      const Json& node = own != changed->MemberEnd() ? own->value : field.value;
      if (absl::StartsWith(Text(node), "<")) continue;  // an object without a text form
      // Bridge pins a commit between core releases; a field of that commit alone is none of the release's.
      if (PinnedByBridge(out->env) && out->config.origin(*knob) == Origin::kAbsent) continue;
      if (*knob == Knob::tp_comm_overlap_cfg && node.IsObject()) {  // the table that the name stands for
        out->finals.push_back({*knob, out->config.Get(Knob::comm_overlap_tp_comm_overlap_cfg), false});
        continue;
      }
      if (*knob == Knob::inference_grouped_gemm_backend) {  // an enum member once its rules ran, printed by its name
        out->finals.push_back({*knob, Value(absl::AsciiStrToLower(Text(node))), false});
        continue;
      }
      absl::Status status;
      out->finals.push_back({*knob, FinalValue(node, &status), false});
      FLIGHTPLAN_RETURN_IF_ERROR(status);
    }
    return absl::OkStatus();
  }

  std::string release_;
  rapidjson::Document defaults_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GoldenReader>> MakeCoreBridgeReader(const std::string& path) {
  const std::string defaults_path = absl::StrCat(path.substr(0, path.rfind(".jsonl")), ".defaults.json");
  absl::StatusOr<std::string> text_or = ReadDataFile(defaults_path);
  if (!text_or.ok()) text_or = ReadDataFile(absl::StrCat(defaults_path, ".gz"));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string text, std::move(text_or));
  rapidjson::Document defaults;
  defaults.Parse<rapidjson::kParseNanAndInfFlag>(text.data(), text.size());
  if (!defaults.IsObject()) return absl::InvalidArgumentError(absl::StrCat(defaults_path, ": not a JSON object"));
  return std::make_unique<CoreBridgeReader>(ReleaseInName(path), std::move(defaults));
}

}  // namespace flightplan::golden
