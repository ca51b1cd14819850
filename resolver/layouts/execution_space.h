// The ways of execution that a question leaves open, as the planner combines them.
#pragma once

#include "resolver/derive/candidate.h"
#include "resolver/plan/config.h"
#include "resolver/plan/intent.h"
#include "resolver/planner/space.h"

namespace flightplan {

// Whether it computes a MoE layer or more again, or has optimizer state on the host: then that state on the host is
// weighed against the recompute.
bool PaysDearlyForRoom(const Candidate& c);

// What the release, the GPU, the installed libraries and the caller's pins leave. `base`: a candidate of the same
// question, whose values stand for what is not open; `config`: its configuration; `dear`: room is known to be dear.
ExecutionSpace ExecutionsOf(const NormalizedIntent& intent, const ModelShape& shape, const Config& config,
                            const Candidate& base, bool dear);

// What of the candidate's offload is no part of that space: where the decisions may offload layers instead of
// recomputing them (decide/recompute.cc), or the inputs of what LoongForge's overlap recomputes, the search weighs it.
GivenOffload OffloadBeside(const NormalizedIntent& intent, const ModelShape& shape, const Config& config,
                           const Candidate& base);

// What the candidate computes again and hands to the host instead, but for what is given beside the space.
Recompute RecomputeOf(const Candidate& c, const GivenOffload& given);

// Whether Megatron's own fusion of the loss is weighed against none.
bool LossIsOpen(const NormalizedIntent& intent, const ModelShape& shape, const Config& config, const Candidate& base);

// Of the ways to compute the loss that are open, the one that holds least; else the candidate's own.
LossKind LeastLoss(const NormalizedIntent& intent, const ModelShape& shape, const Config& config,
                   const Candidate& base);

// The candidate's own graphs, with what of them goes where EP overlap comes and what comes where it goes.
Graphs OwnGraphs(const NormalizedIntent& intent, const ModelShape& shape, const Config& config, const Candidate& base);

// The caller's own value of a knob.
std::optional<Value> PinOf(const NormalizedIntent& intent, Knob knob);

}  // namespace flightplan
