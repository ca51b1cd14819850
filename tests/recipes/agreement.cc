#include "tests/recipes/agreement.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "resolver/derive/start_config.h"
#include "resolver/engine/settle.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/layouts/resolve_layout.h"

namespace flightplan {
namespace {

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

// A local capture of the full iteration is what later releases call full_iteration.
std::string GraphImplOf(const std::string& impl, const std::vector<std::string>& scope) {
  const bool whole = std::find(scope.begin(), scope.end(), "full_iteration") != scope.end();
  return impl == "local" && whole ? "full_iteration" : impl;
}

}  // namespace

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
    out["graph-impl"] = {GraphImplOf(published, Strings(r, "cuda_graph_scope")),
                         GraphImplOf(std::string(config.Get(Knob::cuda_graph_impl).text()),
                                     Strings(config.Get(Knob::cuda_graph_scope)))};
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

DecidedPlan ByEvidence(const NormalizedIntent& intent) {
  SettledPlan settled = Settle(Decide(intent, Derive(intent)), intent.env, {});
  std::vector<Finding>& all = settled.plan.findings;
  all.insert(all.end(), settled.run.findings.begin(), settled.run.findings.end());
  return std::move(settled.plan);
}

WeighedPlan WeighedTogether(const NormalizedIntent& intent) {
  absl::StatusOr<ResolvedPlan> plan = ResolveLayout(intent, EvidenceSnapshot::Empty());
  if (!plan.ok()) return {};
  plan->decided.findings = std::move(plan->run.findings);
  std::erase_if(plan->decided.findings, [](const Finding& finding) { return finding.area == "fit"; });
  return {std::move(plan->decided), plan->step == nullptr ? 0 : plan->step_us()};
}

}  // namespace flightplan
