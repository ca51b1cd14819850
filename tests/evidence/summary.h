// Errors of held-out rows in a line.
#pragma once

#include <vector>

#include "tests/evidence/fit.h"

namespace flightplan {

double Quantile(std::vector<double> values, double q);
double Median(std::vector<double> values);

// Per cent.
struct Summary {
  double median = 0, p90 = 0, bias = 0, inside = 0, half_width = 0;
  size_t rows = 0;
};
Summary Summarize(const std::vector<const HeldOutRow*>& rows);

}  // namespace flightplan
