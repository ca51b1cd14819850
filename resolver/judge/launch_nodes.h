// Where a converted launch runs: on the nodes that its source says.
#pragma once

#include "resolver/judge/read_config.h"
#include "resolver/plan/environment.h"
#include "resolver/render/launch.h"

namespace flightplan {

// Takes the number of GPUs and those of a node over from the launch that was read, where `to` has none of a caller. A
// launch whose GPUs are known and their nodes are not gets nodes as most systems have them: true.
bool KeepNodes(const JudgeQuestion& source, const ReadConfig& read, Environment* to);
// Puts the #SBATCH lines of the script that was read at the head of the converted one, which is submitted as it was.
void KeepJobLines(const JudgeQuestion& source, Launch* launch);
// Asks for the nodes of such a launch.
void AskForAssumedNodes(const Environment& env, Launch* launch);

}  // namespace flightplan
