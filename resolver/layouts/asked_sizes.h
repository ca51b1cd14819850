// What the refusals of a search have in common: a rule may refuse one size of every layout that was looked at.
#pragma once

#include <optional>
#include <vector>

#include "resolver/plan/finding.h"
#include "resolver/planner/space.h"

namespace flightplan {

class AskedSizes {
 public:
  // `errors`: of one layout, with the fixes of their rules.
  void Add(const std::vector<Finding>& errors);

  // Gives an open size of `wish` (0) the value with which every one of them would be accepted; false: there is none.
  bool GiveTo(LayoutSizes* wish) const;

 private:
  std::optional<std::vector<Assignment>> asked_;  // each mends by itself all that were added; none was: empty
};

}  // namespace flightplan
