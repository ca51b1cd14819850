// Runs the example tables beside the rules: each id fires, its nearest neighbour does not, and every fix works.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "resolver/base/yaml.h"
#include "resolver/engine/engine.h"
#include "resolver/rules/registry.h"
#include "tests/rules/rule_example.h"

namespace flightplan {
namespace {

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

void Apply(const Patch& patch, ExampleLaunch* launch) {
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
  for (const auto& [name, value] : writes.keys) written[name] = ValueOfYaml(value);
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

void CheckWrites(const RuleExample& c, const RunResult& result) {
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
void CheckChange(const RuleExample& c, const RunResult& result) {
  CheckWrites(c, result);
  if (c.passes == nullptr) return;
  const ExampleLaunch neighbour = BuildLaunch(c, true);
  const RunResult after = Run(neighbour.config, neighbour.env, neighbour.found);
  if (c.handed_on) {
    EXPECT_FALSE(Final(after, Expected(*c.writes)) == Expected(*c.writes)) << "its neighbour holds the same";
  } else {
    EXPECT_FALSE(Fires(after, c.id)) << "its neighbour fires too";
  }
}

void CheckLaunch(const RuleExample& c) {
  EXPECT_EQ(IdsOfLaunch(*c.fires).count(c.id), 1u) << "does not fire";
  ASSERT_NE(c.passes, nullptr) << "a launch needs a neighbour";
  EXPECT_EQ(IdsOfLaunch(*c.passes).count(c.id), 0u) << "its neighbour fires too";
}

void CheckCase(const RuleExample& c) {
  SCOPED_TRACE(absl::StrCat(c.where, " ", c.id));
  if (c.fires->Find("launch") != nullptr) return CheckLaunch(c);
  const ExampleLaunch launch = BuildLaunch(c, false);
  const RunResult result = Run(launch.config, launch.env, launch.found);
  if (Is(Kind::kChange, c.id)) return CheckChange(c, result);
  ASSERT_TRUE(Fires(result, c.id)) << "does not fire";
  if (c.passes != nullptr) {
    const ExampleLaunch neighbour = BuildLaunch(c, true);
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
    ExampleLaunch fixed = launch;
    Apply(finding->fixes[i], &fixed);
    const RunResult after = Run(fixed.config, fixed.env, fixed.found);
    EXPECT_FALSE(Fires(after, c.id)) << "fix " << i << " does not remove it";
    for (const std::string& id : ErrorsOfArea(after, finding->area)) {
      EXPECT_EQ(before.count(id), 1u) << "fix " << i << " brings a new error: " << id;
    }
  }
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
    const RuleExample c{absl::StrCat(GetParam(), ":", entry.line),
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

INSTANTIATE_TEST_SUITE_P(Tables, RuleCases, testing::ValuesIn(ExampleFiles()), [](const auto& table) {
  std::string name = table.param.substr(table.param.find("/resolver/rules/") + 16);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

TEST(RuleCases, EveryRuleHasAnExample) {
  std::set<std::string> with_example;
  for (const std::string& file : ExampleFiles()) {
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
