// The ways of execution that a question leaves open, as the planner combines them.
#pragma once

#include "resolver/derive/candidate.h"
#include "resolver/plan/config.h"
#include "resolver/plan/intent.h"
#include "resolver/planner/space.h"

namespace flightplan {

// What the release, the GPU, the installed libraries and the caller's pins leave. `base`: a candidate of the same
// question, whose values stand for what is not open; `config`: its configuration.
ExecutionSpace ExecutionsOf(const NormalizedIntent& intent, const ModelShape& shape, const Config& config,
                            const Candidate& base);

// Where the decisions may offload layers instead of recomputing them (decide/recompute.cc), the search weighs how many.
bool OffloadIsOpen(const NormalizedIntent& intent, const ModelShape& shape, const Config& config,
                   const Candidate& base);

// The candidate's own graphs, with what of them goes where EP overlap comes and what comes where it goes.
Graphs OwnGraphs(const NormalizedIntent& intent, const ModelShape& shape, const Config& config, const Candidate& base);

// The caller's own value of a knob.
std::optional<Value> PinOf(const NormalizedIntent& intent, Knob knob);

}  // namespace flightplan
