#include "tests/rules/rule_example.h"

#include <dirent.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "resolver/catalog/defaults.h"
#include "resolver/judge/judge.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

void SetTarget(const std::string& text, Environment* env) {
  const std::vector<std::string> parts = absl::StrSplit(text, '@');
  int release = kMain;
  if (parts.size() > 1) {
    ASSERT_TRUE(absl::SimpleAtoi(parts[1].substr(2), &release)) << text;
  }
  if (parts[0] == "core") env->target = Target::kCore;
  if (parts[0] == "megatron-lm") env->target = Target::kMegatronLm;
  if (parts[0] == "loongforge") env->target = Target::kLoongForge;
  if (const Stack* own = FindStack(parts[0]); own != nullptr && parts[0] != "loongforge" && parts[0] != "megatron-lm") {
    env->target = own->target;
    env->core_release = own->core_release(release);
  } else if (parts[0] == "bridge") {
    env->target = Target::kMegatronBridge;
    env->bridge_release = release;
    env->core_release = release == kMain ? kMain : release + 13;  // 0.4 pins core 0.17, and so on
  } else {
    env->core_release = release;
  }
}

std::tuple<int64_t, int64_t, int64_t> BandOf(const YamlNode& value) {
  const auto end = [&value](size_t i) { return ValueOfYaml(value.items[i]).integer(); };
  return {end(0), end(1), end(2)};
}

// What a phase finds; false for another name.
bool SetFound(const std::string& name, const YamlNode& value, Found* found) {
  const auto memory = [found]() -> FoundMemory& {
    if (!found->memory.has_value()) found->memory.emplace();
    return *found->memory;
  };
  if (name == "foundation_tensor_parallel_size") {
    found->foundation_tensor_parallel_size = ValueOfYaml(value).integer();
  } else if (name == "static_memory_bytes") {
    memory().static_part = ValueOfYaml(value).integer();
  } else if (name == "memory_bytes" && value.items.size() == 3) {
    std::tie(memory().low, memory().value, memory().high) = BandOf(value);
  } else if (name == "host_memory_bytes" && value.items.size() == 3) {
    std::tie(memory().host_low, memory().host, memory().host_high) = BandOf(value);
  } else if (name == "usable_host_memory_bytes") {
    memory().host_usable = ValueOfYaml(value).integer();
  } else if (name == "usable_memory_bytes") {
    memory().usable = ValueOfYaml(value).integer();
  } else if (name == "missing_features" || name == "open_layout") {
    std::vector<std::string>& names = name == "open_layout" ? found->open_layout : found->missing_features;
    names.clear();
    for (const YamlNode& item : value.items) names.push_back(item.text);
  } else {
    return false;
  }
  return true;
}

void SetEnvironment(const YamlNode& node, const std::string& where, Environment* env, Found* found) {
  for (const auto& [name, value] : node.keys) {
    if (SetFound(name, value, found)) continue;
    if (name == "te") {
      env->te = Version::Parse(value.text);  // null: not installed
    } else if (name == "torch") {
      env->torch = Version::Parse(value.text);
    } else if (name == "gpu") {
      env->gpu_name = value.text;
    } else if (name == "cc_major") {
      env->cc_major = static_cast<int>(ValueOfYaml(value).integer());
    } else if (name == "cuda") {
      env->has_cuda = ValueOfYaml(value).truthy();
    } else if (name == "model_file") {
      env->model_file.clear();
      for (const auto& [knob, said] : value.keys) {
        if (const auto known = FindKnob(knob); known.has_value())
          env->model_file.emplace_back(*known, ValueOfYaml(said));
      }
    } else if (name == "model_files") {
      for (const auto& [path, text] : value.keys) env->model_files[path] = text.text;
    } else if (name == "written") {
      env->written = ValueOfYaml(value).truthy();
    } else if (name == "mla") {
      env->mla = ValueOfYaml(value).truthy();
    } else if (name == "model_class") {
      env->model_class = value.text;
    } else if (name == "model_type") {
      env->model_type = value.text;
    } else if (name == "world_size") {
      env->world_size = ValueOfYaml(value).integer();
    } else if (name == "data_parallel_size") {
      env->data_parallel_size = ValueOfYaml(value).integer();
    } else if (name == "vars" || name == "recipe_vars") {
      EnvVars& vars = name == "vars" ? env->vars : env->recipe_vars;
      for (const auto& [var, text] : value.keys) vars[var] = text.text;
    } else if (name == "capabilities") {
      env->capabilities_known = true;
      for (const YamlNode& item : value.items) env->capabilities.insert(item.text);
    } else if (name == "cc_minor") {
      env->cc_minor = static_cast<int>(ValueOfYaml(value).integer());
    } else if (name == "nvlink_domain_gpus") {
      env->nvlink_domain_gpus = static_cast<int>(ValueOfYaml(value).integer());
    } else if (name == "gpus_per_node") {
      env->gpus_per_node = static_cast<int>(ValueOfYaml(value).integer());
    } else if (name == "unknown_version") {
      env->unknown_version = value.text;
    } else if (name == "packages") {
      for (const auto& [package, version] : value.keys) env->packages[package] = version.text;
    } else {
      ADD_FAILURE() << where << ": unknown env." << name;
    }
  }
}

void SetKnobs(const YamlNode& node, const std::string& where, Config* config) {
  for (const auto& [name, value] : node.keys) {
    const std::optional<Knob> knob = FindKnob(name);
    if (!knob.has_value()) {
      ADD_FAILURE() << where << ": no knob " << name;
      continue;
    }
    config->Set(*knob, ValueOfYaml(value), Origin::kCaller);
  }
}

}  // namespace

Value ValueOfYaml(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kNull) return Value();
  if (node.kind == YamlNode::Kind::kList) {
    Value::List items;
    for (const YamlNode& item : node.items) items.push_back(ValueOfYaml(item));
    return Value(std::move(items));
  }
  if (node.quoted) return Value(node.text);
  if (node.text == "true" || node.text == "false") return Value(node.text == "true");
  int64_t integer = 0;
  if (absl::SimpleAtoi(node.text, &integer)) return Value(integer);
  double real = 0;
  if (absl::SimpleAtod(node.text, &real)) return Value(real);
  return Value(node.text);
}

ExampleLaunch BuildLaunch(const RuleExample& c, bool passes) {
  ExampleLaunch launch;
  launch.env.te = Version::Parse("2.12.0");
  launch.env.torch = Version::Parse("2.9.0");
  launch.env.gpu_name = "NVIDIA H100 80GB HBM3";
  launch.env.cc_major = 9;
  std::vector<const YamlNode*> layers = {c.fires};
  if (passes) layers.push_back(c.passes);
  for (const YamlNode* layer : layers) {
    if (const YamlNode* target = layer->Find("target")) SetTarget(target->text, &launch.env);
    if (const YamlNode* env = layer->Find("env")) SetEnvironment(*env, c.where, &launch.env, &launch.found);
  }
  launch.config = DefaultsFor(launch.env.target, launch.env.core_release, launch.env.bridge_release, launch.env.mla);
  if (launch.env.target == Target::kCore) {
    launch.config.Set(Knob::num_layers, 8, Origin::kCaller);
    launch.config.Set(Knob::hidden_size, 1024, Origin::kCaller);
    launch.config.Set(Knob::num_attention_heads, 16, Origin::kCaller);
  }
  for (const YamlNode* layer : layers) {
    if (const YamlNode* knobs = layer->Find("knobs")) SetKnobs(*knobs, c.where, &launch.config);
  }
  return launch;
}

std::set<std::string> IdsOfLaunch(const YamlNode& row) {
  const auto text = [&row](const char* key) {
    const YamlNode* value = row.Find(key);
    return value == nullptr ? std::string() : value->text;
  };
  JudgeQuestion question;
  Found found;
  SetTarget(text("target"), &question.env);
  if (const YamlNode* env = row.Find("env")) SetEnvironment(*env, "launch", &question.env, &found);
  question.input.form = ConfigInput::Form::kFile;
  question.input.format = text("format");
  question.input.text = text("launch");
  if (question.input.format == "argv" || question.input.format == "verl-overrides") {
    question.input.form = ConfigInput::Form::kArguments;
    question.input.arguments = absl::StrSplit(question.input.text, ' ', absl::SkipEmpty());
  }
  const absl::StatusOr<JudgedConfig> judged = ReadAndJudge(question);
  EXPECT_TRUE(judged.ok()) << judged.status();
  std::set<std::string> ids;
  if (!judged.ok()) return ids;
  for (const ParseFinding& entry : judged->reading.parsed.findings) ids.emplace(entry.finding.rule_id);
  for (const Finding& finding : judged->run.findings) ids.emplace(finding.rule_id);
  return ids;
}

std::vector<std::string> ExampleFiles() {
  std::vector<std::string> files;
  const std::string root = std::string(FLIGHTPLAN_SOURCE_DIR) + "/resolver/rules/";
  for (const char* room : {"core", "bridge", "megatron_lm", "loongforge", "slime", "ms_swift", "verl", "nemo_rl",
                           "miles", "vime", "primus", "flagscale", "roll", "fit"}) {
    DIR* folder = opendir((root + room).c_str());
    if (folder == nullptr) continue;
    while (const dirent* entry = readdir(folder)) {
      const std::string name = entry->d_name;
      if (absl::EndsWith(name, ".cases.yaml")) files.push_back(absl::StrCat(root, room, "/", name));
    }
    closedir(folder);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace flightplan
