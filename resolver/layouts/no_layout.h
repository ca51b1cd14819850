// Why a search has no plan: which of the question's numbers nothing divides, or what would fit.
#pragma once

#include <string>

#include "resolver/layouts/layout_search.h"

namespace flightplan {

struct NoLayout {
  std::string seen, needs;
};
NoLayout WhyNoLayout(const LayoutSearch& search);

// What would fit where no legal layout does.
std::string WhatWouldFit(const LayoutSearch& search);

}  // namespace flightplan
