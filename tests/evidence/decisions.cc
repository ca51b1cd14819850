#include "tests/evidence/decisions.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

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

}  // namespace

DecisionShares HeldOutDecisions(const Catalog& catalog, const std::vector<Recipe>& recipes,
                                const std::vector<CoefficientRow>& coefficients, const std::vector<TruthRow>& rows,
                                const std::vector<AbRow>& pairs) {
  Fits fits(coefficients, rows, pairs);
  DecisionShares shares;
  for (const Recipe& recipe : recipes) {
    std::string why;
    std::optional<NormalizedIntent> intent = MakeIntent(catalog, recipe, &why);
    if (!intent.has_value() || recipe.starter || recipe.layout_check) continue;
    const std::string family = FamilyOf(intent->model.name);
    intent->coefficients = fits.Without(family);
    const Comparisons compared = Compare(recipe, intent->model, WeighedTogether(*intent).config);
    for (const char* name : kJudged) {
      const auto found = compared.find(name);
      if (found == compared.end()) continue;
      const bool agrees = found->second.published == found->second.ours;
      DecisionShare& share = shares[name];
      Count(agrees, &share.all);
      Count(agrees, &share.families[family]);
      if (HasFigure(recipe)) Count(agrees, &share.published);
    }
  }
  return shares;
}

}  // namespace flightplan
