// How far our decisions agree with published recipes:  recipes_check FILE.jsonl[.gz] [--show K] [--knob NAME] [--min
// LIST]
//
// Each recipe's model, GPU, layout, batch and precision are resolved, and what we decide is compared with what the
// recipe sets. A recipe field that is null is skipped. Three groups are kept apart: `current` (the newest release that
// publishes a row for the same model, GPU, GPU count and precision), `superseded` (an older release whose row a newer
// one replaced, which says what used to pay) and `starter` (library recipes that their authors mark as untuned).
// With --joint the comparison is with what an answer has: where the forecast clearly says so, it moves a decision.
// Recipes flagged layout_check cannot run on their own GPU count: they must be refused.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "resolver/catalog/catalog.h"
#include "resolver/derive/start_config.h"
#include "resolver/engine/settle.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/layouts/resolve_layout.h"
#include "resolver/rules/decide/decide.h"
#include "tests/recipes/recipe.h"

namespace flightplan {
namespace {

// ---- what is compared

struct Comparison {
  std::string published, ours;
};

std::string Bool(const Value& value) { return value.truthy() ? "on" : "off"; }
std::string Bool(bool value) { return value ? "on" : "off"; }

std::vector<std::string> Strings(const rapidjson::Value& object, const char* name) {
  std::vector<std::string> out;
  auto it = object.FindMember(name);
  if (it == object.MemberEnd() || !it->value.IsArray()) return out;
  for (const auto& item : it->value.GetArray()) out.emplace_back(item.GetString());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> Strings(const Value& value) {
  std::vector<std::string> out;
  for (const Value& item : value.list()) out.emplace_back(item.text());
  std::sort(out.begin(), out.end());
  return out;
}

using Comparisons = std::map<std::string, Comparison>;

Comparisons Compare(const Recipe& recipe, const ModelSpec& model, const Config& config) {
  const rapidjson::Value& r = recipe.json;
  Comparisons out;
  if (model.is_moe()) {
    if (std::string published = Text(r, "dispatcher"); !published.empty()) {
      const absl::string_view type = config.Get(Knob::moe_token_dispatcher_type).text();
      out["dispatcher"] = {published,
                           std::string(type == "flex" ? config.Get(Knob::moe_flex_dispatcher_backend).text() : type)};
    }
    auto flag = [&](const char* field, const char* name, Knob knob) {
      if (auto published = Flag(r, field); published.has_value())
        out[name] = {Bool(*published), Bool(config.Get(knob))};
    };
    flag("moe_a2a_overlap", "ep-overlap", Knob::overlap_moe_expert_parallel_comm);
    flag("delay_wgrad", "delay-wgrad", Knob::delay_wgrad_compute);
    flag("shared_expert_overlap", "shared-expert-overlap", Knob::moe_shared_expert_overlap);
  }
  if (auto published = Flag(r, "tp_overlap"); published.has_value() && Number(r, "tp").value_or(1) > 1) {
    out["tp-overlap"] = {Bool(*published), Bool(config.Get(Knob::tp_comm_overlap))};
  }
  if (std::string published = Text(r, "cuda_graph_impl"); !published.empty()) {
    // A local capture of the full iteration is what later releases call full_iteration.
    const std::vector<std::string> scope = Strings(r, "cuda_graph_scope");
    if (published == "local" && std::find(scope.begin(), scope.end(), "full_iteration") != scope.end()) {
      published = "full_iteration";
    }
    out["graph-impl"] = {published, std::string(config.Get(Knob::cuda_graph_impl).text())};
  }
  if (std::string published = Text(r, "recompute_granularity"); !published.empty()) {
    const std::vector<std::string> modules = Strings(r, "recompute_modules");
    // "selective" with an empty list recomputes nothing; with the list unset, the stack fills in core_attn.
    const bool nothing =
        published == "selective" && modules.empty() && !Flag(r["extra"], "recompute_modules_unset").value_or(false);
    const bool on = published != "none" && !nothing;
    const bool ours = !config.Get(Knob::recompute_granularity).is_none();
    out["recompute"] = {Bool(on), Bool(ours)};
    if (on && ours && published == "selective" && config.Get(Knob::recompute_granularity).text() == "selective") {
      out["recompute-modules"] = {absl::StrJoin(modules, ","),
                                  absl::StrJoin(Strings(config.Get(Knob::recompute_modules)), ",")};
    }
  }
  return out;
}

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

// The decisions one after the other, each as evidence has it; with all findings.
DecidedPlan ByEvidence(const NormalizedIntent& intent) {
  SettledPlan settled = Settle(Decide(intent, Derive(intent)), intent.env, {});
  std::vector<Finding>& all = settled.plan.findings;
  all.insert(all.end(), settled.run.findings.begin(), settled.run.findings.end());
  return std::move(settled.plan);
}

// As they are answered: what the forecast moves is moved. Whether it fits is no question here.
DecidedPlan WeighedTogether(const NormalizedIntent& intent) {
  absl::StatusOr<ResolvedPlan> plan = ResolveLayout(intent, EvidenceSnapshot::Empty());
  if (!plan.ok()) return {};
  plan->decided.findings = std::move(plan->run.findings);
  std::erase_if(plan->decided.findings, [](const Finding& finding) { return finding.area == "fit"; });
  return std::move(plan->decided);
}

struct Tally {
  int agree = 0, total = 0;
  double percent() const { return total == 0 ? 100 : 100.0 * agree / total; }
};

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
    const DecidedPlan decided = joint ? WeighedTogether(*intent) : ByEvidence(*intent);
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
  std::printf("%-22s %18s %18s %18s %18s\n", "agreement", "current", "superseded", "starter", "all");
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
    std::printf(" %18s\n", absl::StrCat(all.agree, "/", all.total, " ", static_cast<int>(all.percent()), "%").c_str());
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
