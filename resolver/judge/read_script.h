// A launch script as a configuration.
#pragma once

#include "resolver/judge/read_config.h"

namespace flightplan {

struct ScriptQuestion {
  const JudgeQuestion& question;
  const OtherLaunch& other;  // to be taken, and the script is not read again; may be none
};

// Its exports go into the environment, and the world size that its launcher, else its #SBATCH lines, ask for. Nothing
// of it is executed.
void ReadScript(const ScriptQuestion& script, ReadConfig* read);

}  // namespace flightplan
