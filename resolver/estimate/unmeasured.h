// What a step's forecast rests on without a measurement: such terms widen its interval, and an answer names them.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/derive/candidate.h"
#include "resolver/derive/shape.h"
#include "resolver/estimate/gpu_rates.h"

namespace flightplan {

// Names that stay as they are, "Mamba scan", in a fixed order; empty: every term has evidence. `rates`: a profile's
// rows of a term take it away.
std::vector<absl::string_view> UnmeasuredTerms(const ModelShape& shape, const Candidate& plan, const GpuRates& rates);

}  // namespace flightplan
