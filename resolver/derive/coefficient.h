// A number that no formula gives: its value, and the range that it may have.
#pragma once

namespace flightplan {

struct Coefficient {
  double value = 0;
  double low = 0;
  double high = 0;
};

}  // namespace flightplan
