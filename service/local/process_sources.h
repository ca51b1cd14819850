// The environment and the files of this process.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace flightplan::service {

// What readers of settings and catalogues ask their surroundings; injected so that tests need neither environment nor
// files.
struct SettingsSources {
  std::function<std::optional<std::string>(const std::string& name)> env;
  std::function<absl::StatusOr<std::string>(const std::string& path)> file;
};
SettingsSources ProcessSources();
// The names of this process's variables.
std::vector<std::string> VariableNames();

}  // namespace flightplan::service
