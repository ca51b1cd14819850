// Why a search looked at no layout: which of the question's numbers nothing divides.
#pragma once

#include <string>

#include "resolver/layouts/layout_search.h"

namespace flightplan {

struct NoLayout {
  std::string seen, needs;
};
NoLayout WhyNoLayout(const LayoutSearch& search);

}  // namespace flightplan
