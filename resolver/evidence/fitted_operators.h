// Operators that a profile times beside products and softmax attention: scans, and a sparse attention's indexer.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/hardware_profile.h"

namespace flightplan {

// One operator at one shape. A time is of a token and of an element of `width`; the indexer's also of a key.
struct FittedOperator {
  absl::string_view id;  // "mamba.scan", "delta.scan", "dsa.index"
  double width = 0;      // a token's: elements of a scan's state, or an indexer's heads times their size
  double sequence = 0;
  double forward_us = 0, backward_us = 0;  // backward 0: not measured
  double error = 0;                        // relative half-width
  RowKind kind = RowKind::kMeasured;
  std::string library;  // "mamba_ssm 2.3.2"
};

// Rows whose shape is not whole give nothing.
std::vector<FittedOperator> FitOperators(const HardwareProfile& profile);

// The shape nearest to this one, by width first. Null: the profile has none of the id.
const FittedOperator* NearestOperator(const std::vector<FittedOperator>& operators, absl::string_view id, double width,
                                      double sequence);

}  // namespace flightplan
