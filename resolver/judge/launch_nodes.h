// Where a converted launch runs: on the nodes that its source says.
#pragma once

#include "resolver/judge/read_config.h"
#include "resolver/plan/environment.h"

namespace flightplan {

// Takes the number of GPUs and those of a node over from the launch that was read, where `to` has none of a caller. A
// launch whose GPUs are known and their nodes are not gets nodes as most systems have them: true.
bool KeepNodes(const JudgeQuestion& source, const ReadConfig& read, Environment* to);

}  // namespace flightplan
