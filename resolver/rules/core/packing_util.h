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
// Change of a trainer that packs: it gives the classes variable_seq_lengths, whatever is said.
void VaryLengths(Editor& editor);

}  // namespace flightplan
