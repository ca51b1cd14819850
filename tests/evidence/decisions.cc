#include "tests/evidence/decisions.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "tests/evidence/row_settings.h"

namespace flightplan {
namespace {

constexpr const char* kJudged[] = {"dispatcher", "ep-overlap", "graph-impl", "recompute"};

// By family; one that has no row is forecast by the fit to all.
class Fits {
 public:
  Fits(const std::vector<CoefficientRow>& coefficients, const std::vector<TruthRow>& rows,
       const std::vector<AbRow>& pairs)
      : coefficients_(coefficients), rows_(rows), pairs_(pairs) {}

  std::shared_ptr<const StepCoefficients> Without(const std::string& family) {
    auto& fit = fits_[family];
    if (fit == nullptr) {
      fit = std::make_shared<const StepCoefficients>(
          FitCoefficients(coefficients_, ChooseData(rows_, pairs_, kByFamily, {family})));
    }
    return fit;
  }

 private:
  const std::vector<CoefficientRow>& coefficients_;
  const std::vector<TruthRow>& rows_;
  const std::vector<AbRow>& pairs_;
  std::map<std::string, std::shared_ptr<const StepCoefficients>> fits_;
};

// A throughput or a step time was published for it.
bool HasFigure(const Recipe& recipe) {
  const auto published = recipe.json.FindMember("published");
  if (published == recipe.json.MemberEnd() || !published->value.IsObject()) return false;
  const auto& fields = published->value.GetObject();
  return std::any_of(fields.begin(), fields.end(), [](const auto& field) { return field.value.IsNumber(); });
}

void Count(bool agrees, Tally* tally) {
  ++tally->total;
  tally->agree += agrees ? 1 : 0;
}

constexpr Knob kDecidedBy[] = {Knob::moe_token_dispatcher_type, Knob::overlap_moe_expert_parallel_comm,
                               Knob::cuda_graph_impl, Knob::recompute_granularity};

// The recipe's value of a decision as the words of a caller; its modules go with it.
void PinPublished(const Recipe& recipe, absl::string_view name, const std::string& published,
                  NormalizedIntent* intent) {
  const auto pin = [&](Knob knob, Value value) { intent->pins.emplace_back(knob, std::move(value)); };
  const auto list = [&](const char* field) {
    Value::List items;
    const auto found = recipe.json.FindMember(field);
    if (found == recipe.json.MemberEnd() || !found->value.IsArray()) return items;
    for (const auto& item : found->value.GetArray()) items.emplace_back(item.GetString());
    return items;
  };
  if (name == "dispatcher") {
    const bool flex = published == "deepep" || published == "hybridep";
    pin(Knob::moe_token_dispatcher_type, Value(flex ? "flex" : published));
    if (flex) pin(Knob::moe_flex_dispatcher_backend, Value(published));
  } else if (name == "ep-overlap") {
    pin(Knob::overlap_moe_expert_parallel_comm, Value(published == "on"));
  } else if (name == "graph-impl") {
    pin(Knob::cuda_graph_impl, Value(published));
    if (published == "transformer_engine" && recipe.release != "v0.2.0")
      pin(Knob::cuda_graph_scope, Value(list("cuda_graph_scope")));
  } else if (published == "off") {
    pin(Knob::recompute_granularity, Value());
  } else {
    pin(Knob::recompute_granularity, Value(Text(recipe.json, "recompute_granularity")));
    if (Value::List modules = list("recompute_modules"); !modules.empty())
      pin(Knob::recompute_modules, Value(std::move(modules)));
  }
}

Disagreement Explain(const Recipe& recipe, const NormalizedIntent& intent, const WeighedPlan& plan, size_t judged,
                     const Comparison& values) {
  Disagreement out{&recipe, HasFigure(recipe), values, 0, plan.step_us, {}};
  const Decision* const decision = FindDecision(plan.decided.decisions, kDecidedBy[judged]);
  if (decision != nullptr) out.reason = decision->reason;
  NormalizedIntent theirs = intent;
  PinPublished(recipe, kJudged[judged], values.published, &theirs);
  out.published_us = WeighedTogether(theirs).step_us;
  return out;
}

}  // namespace

DecisionShares HeldOutDecisions(const Catalog& catalog, const std::vector<Recipe>& recipes,
                                const std::vector<CoefficientRow>& coefficients, const std::vector<TruthRow>& rows,
                                const std::vector<AbRow>& pairs, bool explain) {
  Fits fits(coefficients, rows, pairs);
  DecisionShares shares;
  std::map<std::string, std::vector<Published>> published;
  for (const Recipe& recipe : recipes) {
    std::string why;
    std::optional<NormalizedIntent> intent = MakeIntent(catalog, recipe, &why);
    if (!intent.has_value() || recipe.starter || recipe.layout_check) continue;
    const std::string family = FamilyOf(intent->model.name);
    intent->coefficients = fits.Without(family);
    const WeighedPlan plan = WeighedTogether(*intent);
    const Comparisons compared = Compare(recipe, intent->model, plan.decided.config);
    for (size_t judged = 0; judged < std::size(kJudged); ++judged) {
      const char* name = kJudged[judged];
      const auto found = compared.find(name);
      if (found == compared.end()) continue;
      const bool agrees = found->second.published == found->second.ours;
      DecisionShare& share = shares[name];
      Count(agrees, &share.all);
      published[name].push_back(AsPublished(recipe, *intent, family, found->second.published));
      Count(agrees, &share.families[family]);
      if (HasFigure(recipe)) Count(agrees, &share.published);
      if (explain && !agrees) share.disagreements.push_back(Explain(recipe, *intent, plan, judged, found->second));
    }
  }
  for (auto& [name, share] : shares) share.ceiling = CeilingOf(published[name]);
  return shares;
}

}  // namespace flightplan
