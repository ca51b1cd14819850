// Faults in what a script says to its launcher about the CPUs of the ranks.
#pragma once

#include <vector>

#include "resolver/plan/cpu_binding.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/finding.h"

namespace flightplan {

std::vector<Finding> JudgeLauncherWords(const CpuBinding& binding, const Environment& env);

}  // namespace flightplan
