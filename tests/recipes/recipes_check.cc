// How far our decisions agree with published recipes:  recipes_check FILE.jsonl[.gz] [--show K] [--knob NAME] [--min
// LIST]
//
// Each recipe's model, GPU, layout, batch and precision are resolved, and what we decide is compared with what the
// recipe sets. A recipe field that is null is skipped. Three groups are kept apart: `current` (the newest release that
// publishes a row for the same model, GPU, GPU count and precision), `superseded` (an older release whose row a newer
// one replaced, which says what used to pay) and `starter` (library recipes that their authors mark as untuned).
// With --joint the comparison is with what an answer has: where the forecast clearly says so, it moves a decision.
// Recipes flagged layout_check cannot run on their own GPU count: they must be refused.
// The last column is what the most frequent answer to each question of model, GPU, precision and number of GPUs comes
// to: publishers contradict one another.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/catalog/catalog.h"
#include "tests/recipes/agreement.h"
#include "tests/recipes/ceiling.h"

namespace flightplan {
namespace {

// The decision behind a compared knob.
const Decision* DecisionFor(const DecidedPlan& plan, const std::string& name) {
  static const std::map<std::string, Knob> kKnobs = {
      {"dispatcher", Knob::moe_token_dispatcher_type}, {"ep-overlap", Knob::overlap_moe_expert_parallel_comm},
      {"delay-wgrad", Knob::delay_wgrad_compute},      {"shared-expert-overlap", Knob::moe_shared_expert_overlap},
      {"tp-overlap", Knob::tp_comm_overlap},           {"graph-impl", Knob::cuda_graph_impl},
      {"recompute", Knob::recompute_granularity},      {"recompute-modules", Knob::recompute_granularity}};
  auto it = kKnobs.find(name);
  if (it == kKnobs.end()) return nullptr;
  for (const Decision& decision : plan.decisions) {
    if (decision.env_var.empty() && decision.knob == it->second) return &decision;
  }
  return nullptr;
}

int Main(int argc, char** argv) {
  const char* path = nullptr;
  int show = 0;
  bool joint = false;
  std::string only;
  std::map<std::string, double> minimum;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--show" && i + 1 < argc) {
      show = std::atoi(argv[++i]);
    } else if (arg == "--knob" && i + 1 < argc) {
      only = argv[++i];
    } else if (arg == "--joint") {
      joint = true;
    } else if (arg == "--min" && i + 1 < argc) {  // dispatcher=90,ep-overlap=90: fails below, on the current rows
      for (absl::string_view item : absl::StrSplit(argv[++i], ',')) {
        std::vector<std::string> parts = absl::StrSplit(item, '=');
        if (parts.size() == 2) minimum[parts[0]] = std::atof(parts[1].c_str());
      }
    } else {
      path = argv[i];
    }
  }
  if (path == nullptr) {
    std::fprintf(stderr,
                 "usage: recipes_check FILE.jsonl[.gz] [--show K] [--knob NAME] [--min knob=percent,...] [--joint]\n");
    return 2;
  }
  absl::StatusOr<Catalog> catalog = Catalog::Builtin();
  if (!catalog.ok()) {
    std::fprintf(stderr, "%s\n", catalog.status().ToString().c_str());
    return 2;
  }
  const absl::StatusOr<std::vector<Recipe>> recipes = ReadRecipes(path);
  if (!recipes.ok()) {
    std::fprintf(stderr, "%s\n", std::string(recipes.status().message()).c_str());
    return 2;
  }

  std::map<std::string, std::map<std::string, Tally>> tallies;  // knob -> group
  std::map<std::string, std::vector<Published>> published;
  std::map<std::string, int> skipped;
  int resolved = 0, with_errors = 0, refused = 0, layout_checks = 0, shown = 0;
  for (const Recipe& recipe : *recipes) {
    std::string why;
    std::optional<NormalizedIntent> intent = MakeIntent(*catalog, recipe, &why);
    if (!intent.has_value()) {
      ++skipped[absl::StrCat(why, " (", recipe.model, ", ", recipe.gpu.empty() ? "-" : recipe.gpu, ")")];
      continue;
    }
    ++resolved;
    const DecidedPlan decided = joint ? WeighedTogether(*intent).decided : ByEvidence(*intent);
    std::vector<const Finding*> errors;
    for (const Finding& finding : decided.findings) {
      if (finding.severity == Severity::kError) errors.push_back(&finding);
    }
    if (recipe.layout_check) {
      ++layout_checks;
      if (!errors.empty()) ++refused;
      if (show > 0) {
        std::printf("layout_check %s: %s\n", recipe.id.c_str(),
                    errors.empty() ? "NOT REFUSED" : errors[0]->seen.c_str());
      }
      continue;
    }
    if (!errors.empty() && intent->model.is_moe()) {
      ++with_errors;
      if (show > 0) {
        for (const Finding* error : errors) {
          std::printf("error %s: %s: %s\n", recipe.id.c_str(), std::string(error->rule_id).c_str(),
                      error->seen.c_str());
        }
      }
    }
    const std::string group = recipe.superseded ? "superseded" : recipe.starter ? "starter" : "current";
    for (const auto& [name, values] : Compare(recipe, intent->model, decided.config)) {
      Tally& tally = tallies[name][group];
      ++tally.total;
      published[name].push_back(AsPublished(recipe, *intent, recipe.model, values.published));
      if (values.published == values.ours) {
        ++tally.agree;
        continue;
      }
      if ((!only.empty() && only != name) || shown >= show) continue;
      ++shown;
      const Decision* decision = DecisionFor(decided, name);
      std::printf("%-10s %-20s %s: published %s, ours %s%s%s\n", group.c_str(), name.c_str(), recipe.id.c_str(),
                  values.published.c_str(), values.ours.c_str(), decision != nullptr ? "; " : "",
                  decision != nullptr ? decision->reason.c_str() : "");
    }
  }

  std::printf("%d recipes resolved of %d; MoE recipes with error findings %d; layout_check refused %d of %d\n",
              resolved, static_cast<int>(recipes->size()), with_errors, refused, layout_checks);
  for (const auto& [reason, count] : skipped) std::printf("  skipped %d: %s\n", count, reason.c_str());
  std::printf("%-22s %18s %18s %18s %18s %18s\n", "agreement", "current", "superseded", "starter", "all",
              "any rule, no layout");
  bool failed = false;
  if (auto it = minimum.find("without-errors"); it != minimum.end()) {
    failed |= Tally{resolved - with_errors, resolved}.percent() < it->second;
  }
  if (auto it = minimum.find("layout-check"); it != minimum.end()) {
    failed |= Tally{refused, layout_checks}.percent() < it->second;
  }
  for (auto& [name, groups] : tallies) {
    Tally all;
    std::printf("%-22s", name.c_str());
    for (const char* group : {"current", "superseded", "starter"}) {
      const Tally& tally = groups[group];
      all.agree += tally.agree;
      all.total += tally.total;
      std::printf(" %18s",
                  absl::StrCat(tally.agree, "/", tally.total, " ", static_cast<int>(tally.percent()), "%").c_str());
    }
    const Tally any = CeilingOf(published[name]).by_question;
    std::printf(" %18s %18s\n",
                absl::StrCat(all.agree, "/", all.total, " ", static_cast<int>(all.percent()), "%").c_str(),
                absl::StrCat(any.agree, "/", any.total, " ", static_cast<int>(any.percent()), "%").c_str());
    auto it = minimum.find(name);
    if (it != minimum.end() && groups["current"].percent() < it->second) {
      std::printf("  %s is below the level reached before: %.1f < %.1f\n", name.c_str(), groups["current"].percent(),
                  it->second);
      failed = true;
    }
  }
  return !minimum.empty() && failed ? 1 : 0;
}

}  // namespace
}  // namespace flightplan

int main(int argc, char** argv) { return flightplan::Main(argc, argv); }
