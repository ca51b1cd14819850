// The JSON Schema (draft 2020-12) of the --config file of `flightplan serve`, for editors.
#pragma once

#include <string>

namespace flightplan::service {

std::string SettingsSchema();

}  // namespace flightplan::service
