// The skill that `flightplan mcp --install-skill` writes: clients/skills/flightplan/SKILL.md, built in.
#pragma once

#include <string>

namespace flightplan::cli {

std::string SkillText();

}  // namespace flightplan::cli
