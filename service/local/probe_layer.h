// The layer that a probe is asked to measure: what one rank has of a model's MoE layer under a layout.
#pragma once

#include <string>

#include "flightplan/v1/probe_service.pb.h"
#include "resolver/normalize/violations.h"

namespace flightplan {
class Catalog;
}

namespace flightplan::service {

// As the worker's --shape takes it; empty: a request without a model, for which the worker has a layer of its own.
// Sizes that no kernel is built for are the worker's to refuse.
std::string ProbedLayer(const v1::RunProbeRequest& request, const Catalog& catalog, Violations* violations);

}  // namespace flightplan::service
