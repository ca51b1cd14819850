// Reads from a launcher's words (torchrun, srun, numactl) which CPUs its ranks run on.
#pragma once

#include "resolver/plan/cpu_binding.h"
#include "resolver/shell/words.h"

namespace flightplan {

CpuBinding ReadCpuBinding(WordSpan launcher);

}  // namespace flightplan
