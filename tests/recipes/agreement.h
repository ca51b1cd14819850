// What we decide for a published recipe beside what the recipe sets.
#pragma once

#include <map>
#include <string>

#include "resolver/rules/decide/decide.h"
#include "tests/recipes/recipe.h"

namespace flightplan {

struct Comparison {
  std::string published, ours;
};

// By name of the decision: dispatcher, ep-overlap, delay-wgrad, shared-expert-overlap, tp-overlap, graph-impl,
// recompute, recompute-modules. What the recipe does not state is left out.
using Comparisons = std::map<std::string, Comparison>;
Comparisons Compare(const Recipe& recipe, const ModelSpec& model, const Config& config);

// The decisions one after the other, each as evidence has it; with all findings.
DecidedPlan ByEvidence(const NormalizedIntent& intent);

// As they are answered: what the forecast moves is moved. Whether it fits is no question here.
struct WeighedPlan {
  DecidedPlan decided;
  double step_us = 0;  // 0: refused, or no forecast
};
WeighedPlan WeighedTogether(const NormalizedIntent& intent);

struct Tally {
  int agree = 0, total = 0;
  double percent() const { return total == 0 ? 100 : 100.0 * agree / total; }
};

}  // namespace flightplan
