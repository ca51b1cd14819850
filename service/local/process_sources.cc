#include "service/local/process_sources.h"

#include <unistd.h>

#include <cstdlib>

#include "absl/strings/string_view.h"
#include "service/local/input_file.h"

namespace flightplan::service {
namespace {

constexpr size_t kMaxFileBytes = size_t{64} << 20;  // each kind of file has a limit of its own below it

}  // namespace

SettingsSources ProcessSources() {
  return {[](const std::string& name) -> std::optional<std::string> {
            const char* value = std::getenv(name.c_str());
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
          },
          [](const std::string& path) { return ReadWholeFile(path, kMaxFileBytes); }};
}

std::vector<std::string> VariableNames() {
  std::vector<std::string> names;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const absl::string_view text = *variable;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

}  // namespace flightplan::service
