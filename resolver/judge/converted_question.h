// What is asked of a launch that was written here.
#pragma once

#include "resolver/judge/convert_config.h"
#include "resolver/plan/environment.h"
#include "resolver/render/launch.h"

namespace flightplan {

// A launch of ours as a question of its own, all else as in `question`: the script, in which a person's part stands as
// a variable, and of a container, whose script starts from a recipe that nobody knows here, the overrides. `env`: of
// the question; `of`: of the launch. `open`: the model is the recipe's.
JudgeQuestion LaunchQuestion(JudgeQuestion question, Environment env, const Environment& of, const Launch& launch,
                             bool open);
// The same of one that was converted.
JudgeQuestion ConvertedQuestion(const ConvertQuestion& question, const Environment& to, const Launch& launch,
                                bool open);

}  // namespace flightplan
