// What packing needs, for the stacks that give the model samples as one sequence of changing length.
#pragma once

#include "resolver/rules/rule.h"

namespace flightplan {

bool UsesCudaGraphs(const Facts& facts);
// TP overlap, whose buffers are made for one length, with ranks to overlap with.
bool OverlapsTensorParallel(const Facts& facts);
// Change of a trainer that builds the config classes by itself: it hands the types on, and that the optimizer is
// distributed.
void HandOnTypes(Editor& editor);

}  // namespace flightplan
