// How often what we decide agrees with what publishers set, of model families that the step forecast was not fitted to.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/evidence/fit.h"
#include "tests/recipes/agreement.h"

namespace flightplan {

// Of one decision.
struct DecisionShare {
  Tally published, all;                   // recipes that a figure was published for, and all
  std::map<std::string, Tally> families;  // of all
};

// By name of the decision (tests/recipes/agreement.h): the dispatcher, EP overlap, graphs and recompute, of every
// recipe that its authors tuned, of all releases. Each is answered as a question is, with coefficients fitted without
// its family.
using DecisionShares = std::map<std::string, DecisionShare>;
DecisionShares HeldOutDecisions(const Catalog& catalog, const std::vector<Recipe>& recipes,
                                const std::vector<CoefficientRow>& coefficients, const std::vector<TruthRow>& rows,
                                const std::vector<AbRow>& pairs);

}  // namespace flightplan
