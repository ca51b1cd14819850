// Every published MoE recipe, resolved for each target, says the same when our own reader reads what we rendered:
//   round_trip_check FILE.jsonl[.gz] [--show K]
//
// A recipe counts for a target that accepts its layout there; one that its own target accepts must be accepted. What we
// rendered must lead to the same final configuration: every knob that the command can say, and every one that the stack
// then sets.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resolver/catalog/catalog.h"
#include "resolver/catalog/defaults.h"
#include "resolver/derive/start_config.h"
#include "resolver/engine/settle.h"
#include "resolver/rules/decide/decide.h"
#include "resolver/stacks/dialects.h"
#include "tests/recipes/recipe.h"

namespace flightplan {
namespace {

struct TargetRow {
  Target target;
  const char* name;
  int rendered = 0, same = 0, refused = 0;
};

bool HasError(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::kError; });
}

// A recipe written for one stack, asked of another: the newest release of that stack.
NormalizedIntent ForTarget(NormalizedIntent intent, Target target) {
  if (intent.env.target == target) return intent;
  intent.env.target = target;
  intent.env.bridge_release = kMain;
  intent.env.core_release = target == Target::kLoongForge ? kLoongForgeCore : kMain;
  return intent;
}

// How Bridge's objects came to be: a recipe makes them, and no override says it.
bool IsMadeByTheRecipe(Knob knob) {
  return knob == Knob::comm_overlap_configured || knob == Knob::mixed_precision_configured ||
         knob == Knob::mixed_precision_recipe;
}

// Knobs whose final value is not the same after a render and a read, as "name: rendered X, read Y".
std::vector<std::string> Differences(const RunResult& run, const Environment& asked, const Launch& launch) {
  Environment env = asked;
  env.vars = launch.env;
  std::vector<Argument> arguments;
  for (const std::string& word : launch.argv) {
    arguments.push_back({word, {static_cast<int>(arguments.size()), 0, 0}});
  }
  const ParseResult read = ParseOwnDialect(arguments, env);
  std::vector<std::string> differences;
  for (const ParseFinding& finding : read.findings) {
    if (finding.finding.severity == Severity::kError) {
      differences.push_back(absl::StrCat("not readable: ", finding.finding.seen));
    }
  }
  Config back = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  ApplyKnobs(read.knobs, &back);
  const RunResult again = Run(std::move(back), env);
  for (int i = 0; i < kKnobCount; ++i) {
    const auto knob = static_cast<Knob>(i);
    const bool unspelled = std::find(launch.unspelled.begin(), launch.unspelled.end(), knob) != launch.unspelled.end();
    const Value& rendered = run.config.Get(knob);
    const Value& read_back = again.config.Get(knob);
    if (unspelled || IsMadeByTheRecipe(knob) || run.config.origin(knob) == Origin::kAbsent || rendered == read_back)
      continue;
    differences.push_back(
        absl::StrCat(std::string(Name(knob)), ": rendered ", rendered.ToText(), ", read ", read_back.ToText()));
  }
  return differences;
}

int Main(int argc, char** argv) {
  const char* path = nullptr;
  int show = 20;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--show") == 0 && i + 1 < argc) {
      show = std::atoi(argv[++i]);
    } else {
      path = argv[i];
    }
  }
  if (path == nullptr) {
    std::fprintf(stderr, "usage: round_trip_check FILE.jsonl[.gz] [--show K]\n");
    return 2;
  }
  const absl::StatusOr<Catalog> catalog = Catalog::Builtin();
  const absl::StatusOr<std::vector<Recipe>> recipes = ReadRecipes(path);
  if (!catalog.ok() || !recipes.ok()) {
    std::fprintf(stderr, "%s\n", (catalog.ok() ? recipes.status() : catalog.status()).ToString().c_str());
    return 2;
  }
  TargetRow rows[] = {{Target::kMegatronLm, "megatron-lm"},
                      {Target::kMegatronBridge, "megatron-bridge"},
                      {Target::kLoongForge, "loongforge"}};
  int faults = 0;
  const auto fault = [&](const Recipe& recipe, const char* target, const std::string& what) {
    if (++faults <= show) std::printf("%s for %s: %s\n", recipe.id.c_str(), target, what.c_str());
  };
  std::map<std::string, int> refusals;
  for (const Recipe& recipe : *recipes) {
    std::string why;
    const std::optional<NormalizedIntent> asked = MakeIntent(*catalog, recipe, &why);
    if (!asked.has_value() || !asked->model.is_moe() || recipe.layout_check) continue;
    for (TargetRow& row : rows) {
      const NormalizedIntent intent = ForTarget(*asked, row.target);
      const SettledPlan settled = Settle(Decide(intent, Derive(intent)), intent.env, {});
      if (HasError(settled.plan.findings) || HasError(settled.run.findings)) {
        ++row.refused;
        for (const Finding& finding : settled.run.findings) {
          if (finding.severity == Severity::kError)
            ++refusals[absl::StrCat(row.name, " ", finding.rule_id, " ", finding.seen)];
        }
        if (row.target == asked->env.target) fault(recipe, row.name, "refused by its own target");
        continue;
      }
      ++row.rendered;
      const Launch launch = RenderDialect(OwnDialect(row.target), {settled.written, intent.env, settled.plan.env});
      const std::vector<std::string> differences = Differences(settled.run, intent.env, launch);
      row.same += differences.empty() ? 1 : 0;
      for (const std::string& difference : differences) fault(recipe, row.name, difference);
    }
  }
  for (const TargetRow& row : rows) {
    std::printf("%s: same %d of %d rendered; %d refused\n", row.name, row.same, row.rendered, row.refused);
  }
  for (const auto& [rule, count] : refusals) std::printf("  refused %d: %s\n", count, rule.c_str());
  std::printf("faults %d\n", faults);
  return faults == 0 ? 0 : 1;
}

}  // namespace
}  // namespace flightplan

int main(int argc, char** argv) { return flightplan::Main(argc, argv); }
