// A number that no formula gives: what it is taken to be, and the range it may have.
#pragma once

namespace flightplan {

struct Coefficient {
  double value = 0;
  double low = 0;
  double high = 0;
};

}  // namespace flightplan
