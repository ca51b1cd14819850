#include "service/process_sources.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace flightplan::service {

SettingsSources ProcessSources() {
  return {[](const std::string& name) -> std::optional<std::string> {
            const char* value = std::getenv(name.c_str());
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
          },
          [](const std::string& path) -> absl::StatusOr<std::string> {
            std::ifstream file(path, std::ios::binary);
            if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
            std::ostringstream text;
            text << file.rdbuf();
            return text.str();
          }};
}

}  // namespace flightplan::service
