#include "service/local/process_sources.h"

#include <cstdlib>

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

}  // namespace flightplan::service
