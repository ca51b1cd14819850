// Runs the example tables beside the rules (resolver/rules/*/*.cases.yaml): for each id a config that fires it, its
// nearest neighbour that does not, and every fix of the finding.
//
//   - id: bridge-ep-overlap.requires-ep
//     fires: {target: bridge, knobs: {comm_overlap.overlap_moe_expert_parallel_comm: true}, env: {torch: "2.9.0"}}
//     passes: {knobs: {expert_model_parallel_size: 8}}      # only what differs from `fires`
//
// Under every core example stands a small model (8 layers, 1024 wide, 16 heads), so that it needs to say only what it
// is about, and `unfixable: why` says why an error has no fix; the other targets start from the class defaults. target:
// core, megatron-lm, bridge, loongforge, slime, ms-swift, verl, nemo-rl, miles, vime, primus, flagscale or roll, with
// @RELEASE for another than main (bridge@0.5). A change needs no fix: it "fires" when it leaves a trace, and
// `writes: {knob: value}` says every value that it writes. One that only hands values on, and leaves no trace, is
// `handed_on: true`: then the configuration that will run must hold what `writes` says.
//
// A fix that works by its forecast, which the resolver's own tests cover, is `forecast: true`.
//
// What only a reader can find has the text of a launch in place of knobs, `launch: "..."`, and `format`, its name as of
// --input-format; it is read, then judged.
#include <dirent.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "resolver/base/yaml.h"
#include "resolver/catalog/defaults.h"
#include "resolver/engine/engine.h"
#include "resolver/judge/judge.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/registry.h"

namespace flightplan {
namespace {

struct Case {
  std::string where;  // file:line
  std::string id;
  const YamlNode* fires = nullptr;
  const YamlNode* passes = nullptr;
  const YamlNode* writes = nullptr;
  bool unfixable = false;
  bool handed_on = false;
  bool forecast = false;
};

struct Launch {
  Config config;
  Environment env;
  Found found;
};

Value ToValue(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kNull) return Value();
  if (node.kind == YamlNode::Kind::kList) {
    Value::List items;
    for (const YamlNode& item : node.items) items.push_back(ToValue(item));
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
  const auto end = [&value](size_t i) { return ToValue(value.items[i]).integer(); };
  return {end(0), end(1), end(2)};
}

// What a phase finds; false for another name.
bool SetFound(const std::string& name, const YamlNode& value, Found* found) {
  const auto memory = [found]() -> FoundMemory& {
    if (!found->memory.has_value()) found->memory.emplace();
    return *found->memory;
  };
  if (name == "foundation_tensor_parallel_size") {
    found->foundation_tensor_parallel_size = ToValue(value).integer();
  } else if (name == "static_memory_bytes") {
    memory().static_part = ToValue(value).integer();
  } else if (name == "memory_bytes" && value.items.size() == 3) {
    std::tie(memory().low, memory().value, memory().high) = BandOf(value);
  } else if (name == "host_memory_bytes" && value.items.size() == 3) {
    std::tie(memory().host_low, memory().host, memory().host_high) = BandOf(value);
  } else if (name == "usable_host_memory_bytes") {
    memory().host_usable = ToValue(value).integer();
  } else if (name == "usable_memory_bytes") {
    memory().usable = ToValue(value).integer();
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
      env->cc_major = static_cast<int>(ToValue(value).integer());
    } else if (name == "cuda") {
      env->has_cuda = ToValue(value).truthy();
    } else if (name == "model_file") {
      env->model_file.clear();
      for (const auto& [knob, said] : value.keys) {
        if (const auto known = FindKnob(knob); known.has_value()) env->model_file.emplace_back(*known, ToValue(said));
      }
    } else if (name == "model_files") {
      for (const auto& [path, text] : value.keys) env->model_files[path] = text.text;
    } else if (name == "written") {
      env->written = ToValue(value).truthy();
    } else if (name == "mla") {
      env->mla = ToValue(value).truthy();
    } else if (name == "model_class") {
      env->model_class = value.text;
    } else if (name == "model_type") {
      env->model_type = value.text;
    } else if (name == "world_size") {
      env->world_size = ToValue(value).integer();
    } else if (name == "data_parallel_size") {
      env->data_parallel_size = ToValue(value).integer();
    } else if (name == "vars" || name == "recipe_vars") {
      EnvVars& vars = name == "vars" ? env->vars : env->recipe_vars;
      for (const auto& [var, text] : value.keys) vars[var] = text.text;
    } else if (name == "capabilities") {
      env->capabilities_known = true;
      for (const YamlNode& item : value.items) env->capabilities.insert(item.text);
    } else if (name == "cc_minor") {
      env->cc_minor = static_cast<int>(ToValue(value).integer());
    } else if (name == "nvlink_domain_gpus") {
      env->nvlink_domain_gpus = static_cast<int>(ToValue(value).integer());
    } else if (name == "gpus_per_node") {
      env->gpus_per_node = static_cast<int>(ToValue(value).integer());
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
    config->Set(*knob, ToValue(value), Origin::kCaller);
  }
}

// `fires`, and on top of it `passes` where it is given.
Launch Build(const Case& c, bool passes) {
  Launch launch;
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

const Finding* FindFinding(const RunResult& result, absl::string_view id) {
  for (const Finding& finding : result.findings) {
    if (finding.rule_id == id) return &finding;
  }
  return nullptr;
}

bool Fires(const RunResult& result, absl::string_view id) {
  const bool changed = std::any_of(result.changes.begin(), result.changes.end(),
                                   [id](const ConfigChange& change) { return change.rule_id == id; });
  return changed || FindFinding(result, id) != nullptr;
}

std::set<std::string> ErrorsOfArea(const RunResult& result, absl::string_view area) {
  std::set<std::string> ids;
  for (const Finding& finding : result.findings) {
    if (finding.severity == Severity::kError && finding.area == area) ids.emplace(finding.rule_id);
  }
  return ids;
}

void Apply(const Patch& patch, Launch* launch) {
  for (const Assignment& assignment : patch) {
    if (assignment.env_var.empty()) {
      launch->config.Set(assignment.knob, assignment.value, Origin::kCaller);
    } else if (assignment.value.is_none()) {
      launch->env.vars.erase(assignment.env_var);
    } else {
      launch->env.vars[assignment.env_var] = assignment.value.ToText();
    }
  }
}

// What a row or a trace says is written, by the name of the knob or the variable.
using Written = std::map<std::string, Value>;

std::string Text(const Written& written) {
  return absl::StrJoin(written, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, ": ", entry.second.ToJson());
  });
}

Written Expected(const YamlNode& writes) {
  Written written;
  for (const auto& [name, value] : writes.keys) written[name] = ToValue(value);
  return written;
}

// The last value that each knob got, as the rule's traces have it.
Written Traced(const RunResult& result, absl::string_view id) {
  Written written;
  for (const ConfigChange& change : result.changes) {
    if (change.rule_id == id)
      written[change.env_var.empty() ? std::string(Name(change.knob)) : change.env_var] = change.to;
  }
  return written;
}

// The final values of what the row says is written.
Written Final(const RunResult& result, const Written& expected) {
  Written written;
  for (const auto& [name, value] : expected) {
    if (name == "env.data_parallel_size") {
      written[name] = Value(result.env.data_parallel_size.value_or(0));
    } else if (const std::optional<Knob> knob = FindKnob(name); knob.has_value()) {
      written[name] = result.config.Get(*knob);
    }
  }
  return written;
}

void CheckWrites(const Case& c, const RunResult& result) {
  const Written seen = c.handed_on && c.writes != nullptr ? Final(result, Expected(*c.writes)) : Traced(result, c.id);
  ASSERT_FALSE(seen.empty()) << "does not fire";
  ASSERT_NE(c.writes, nullptr) << c.id << " writes: {" << Text(seen) << "}";
  EXPECT_TRUE(Expected(*c.writes) == seen) << c.id << " writes: {" << Text(seen) << "}";
}

bool Is(Kind kind, absl::string_view id) {
  return std::any_of(AllRules().begin(), AllRules().end(),
                     [&](const Rule* rule) { return rule->id == id && rule->kind == kind; });
}

// A change is judged by what it writes.
void CheckChange(const Case& c, const RunResult& result) {
  CheckWrites(c, result);
  if (c.passes == nullptr) return;
  const Launch neighbour = Build(c, true);
  const RunResult after = Run(neighbour.config, neighbour.env, neighbour.found);
  if (c.handed_on) {
    EXPECT_FALSE(Final(after, Expected(*c.writes)) == Expected(*c.writes)) << "its neighbour holds the same";
  } else {
    EXPECT_FALSE(Fires(after, c.id)) << "its neighbour fires too";
  }
}

// The ids that reading and judging a launch finds.
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

void CheckLaunch(const Case& c) {
  EXPECT_EQ(IdsOfLaunch(*c.fires).count(c.id), 1u) << "does not fire";
  ASSERT_NE(c.passes, nullptr) << "a launch needs a neighbour";
  EXPECT_EQ(IdsOfLaunch(*c.passes).count(c.id), 0u) << "its neighbour fires too";
}

void CheckCase(const Case& c) {
  SCOPED_TRACE(absl::StrCat(c.where, " ", c.id));
  if (c.fires->Find("launch") != nullptr) return CheckLaunch(c);
  const Launch launch = Build(c, false);
  const RunResult result = Run(launch.config, launch.env, launch.found);
  if (Is(Kind::kChange, c.id)) return CheckChange(c, result);
  ASSERT_TRUE(Fires(result, c.id)) << "does not fire";
  if (c.passes != nullptr) {
    const Launch neighbour = Build(c, true);
    EXPECT_FALSE(Fires(Run(neighbour.config, neighbour.env, neighbour.found), c.id)) << "its neighbour fires too";
  }
  const Finding* finding = FindFinding(result, c.id);
  if (finding == nullptr || finding->severity != Severity::kError) return;
  if (c.unfixable) {
    EXPECT_TRUE(finding->fixes.empty()) << "has a fix";
  } else {
    EXPECT_FALSE(finding->fixes.empty()) << "an error without a fix";
  }
  EXPECT_FALSE(finding->needs.empty());
  if (c.forecast) return;
  const std::set<std::string> before = ErrorsOfArea(result, finding->area);
  for (size_t i = 0; i < finding->fixes.size(); ++i) {
    Launch fixed = launch;
    Apply(finding->fixes[i], &fixed);
    const RunResult after = Run(fixed.config, fixed.env, fixed.found);
    EXPECT_FALSE(Fires(after, c.id)) << "fix " << i << " does not remove it";
    for (const std::string& id : ErrorsOfArea(after, finding->area)) {
      EXPECT_EQ(before.count(id), 1u) << "fix " << i << " brings a new error: " << id;
    }
  }
}

std::vector<std::string> CaseFiles() {
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

class RuleCases : public testing::TestWithParam<std::string> {};

TEST_P(RuleCases, FireAndPassAndAreFixed) {
  std::ifstream in(GetParam());
  std::stringstream text;
  text << in.rdbuf();
  const absl::StatusOr<YamlDocument> document = ParseYaml(GetParam(), text.str());
  ASSERT_TRUE(document.ok()) << document.status();
  for (const YamlNode& entry : document->root.items) {
    const YamlNode* id = entry.Find("id");
    const Case c{absl::StrCat(GetParam(), ":", entry.line),
                 id == nullptr ? "" : id->text,
                 entry.Find("fires"),
                 entry.Find("passes"),
                 entry.Find("writes"),
                 entry.Find("unfixable") != nullptr,
                 entry.Find("handed_on") != nullptr,
                 entry.Find("forecast") != nullptr};
    ASSERT_FALSE(c.id.empty() || c.fires == nullptr) << c.where << ": id and fires are needed";
    CheckCase(c);
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, RuleCases, testing::ValuesIn(CaseFiles()), [](const auto& table) {
  std::string name = table.param.substr(table.param.find("/resolver/rules/") + 16);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

TEST(RuleCases, EveryRuleHasAnExample) {
  std::set<std::string> with_example;
  for (const std::string& file : CaseFiles()) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    const absl::StatusOr<YamlDocument> document = ParseYaml(file, text.str());
    ASSERT_TRUE(document.ok()) << document.status();
    for (const YamlNode& entry : document->root.items) {
      if (const YamlNode* id = entry.Find("id")) with_example.insert(id->text);
    }
  }
  for (const Rule* rule : AllRules()) EXPECT_EQ(with_example.count(std::string(rule->id)), 1u) << rule->id;
}

}  // namespace
}  // namespace flightplan
