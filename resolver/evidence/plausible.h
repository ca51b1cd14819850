// Whether a tenant's report is to be believed.
#pragma once

#include <string>

#include "resolver/evidence/measurement.h"
#include "resolver/evidence/snapshot.h"

namespace flightplan {

// Why it is an outlier, one sentence; empty: it is none. An outlier is kept and never used, until an operator reports
// the same.
std::string ImplausibleBecause(const Measurement& report, const EvidenceSnapshot& evidence);

}  // namespace flightplan
