// How often what we decide agrees with what publishers set, of model families that the step forecast was not fitted to.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/evidence/fit.h"
#include "tests/recipes/agreement.h"
#include "tests/recipes/ceiling.h"

namespace flightplan {

// A recipe that sets a decision otherwise than we do.
struct Disagreement {
  const Recipe* recipe = nullptr;
  bool has_figure = false;
  Comparison values;
  double published_us = 0, ours_us = 0;  // forecast with the one and with the other; 0: refused, or there is none
  std::string reason;                    // of ours
};

// Of one decision.
struct DecisionShare {
  Tally published, all;                   // recipes that a figure was published for, and all
  std::map<std::string, Tally> families;  // of all
  Ceiling ceiling;                        // of all
  std::vector<Disagreement> disagreements;
};

// By name of the decision (tests/recipes/agreement.h): the dispatcher, EP overlap, graphs and recompute, of every
// recipe that its authors tuned, of all releases. Each is answered as a question is, with coefficients fitted without
// its family. `explain`: lists the disagreements, which asks each of them once more.
using DecisionShares = std::map<std::string, DecisionShare>;
DecisionShares HeldOutDecisions(const Catalog& catalog, const std::vector<Recipe>& recipes,
                                const std::vector<CoefficientRow>& coefficients, const std::vector<TruthRow>& rows,
                                const std::vector<AbRow>& pairs, bool explain = false);

}  // namespace flightplan
