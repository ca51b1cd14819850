// JSON Schemas (draft 2020-12) of the YAML formats, written from the knob table, for editors: names, types, choices,
// defaults. They accept what the readers of this room accept, and what the stacks do: an unknown key is no fault where
// the stack passes over it or may know it, a reference to a variable fits everywhere. A number in quotes fits, too.
#pragma once

#include <string>

namespace flightplan {

std::string MegatronLmYamlSchema();
std::string BridgeYamlSchema();
std::string LoongForgeYamlSchema();

}  // namespace flightplan
