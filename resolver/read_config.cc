#include "resolver/read_config.h"

#include <utility>
#include <vector>

#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/normalize/knobs_message.h"
#include "resolver/normalize/violations.h"
#include "resolver/render/dialects.h"
#include "resolver/render/shell_reader.h"

namespace flightplan {
namespace {

std::vector<Argument> Words(const google::protobuf::RepeatedPtrField<std::string>& values) {
  std::vector<Argument> words;
  words.reserve(static_cast<size_t>(values.size()));
  for (const std::string& value : values) words.push_back({value, {static_cast<int>(words.size()), 0, 0}});
  return words;
}

// A launch script: its exports and its launcher's world size go into `env`. Nothing of it is executed.
absl::StatusOr<Reading> ReadScript(const v1::TextFile& file, Environment* env) {
  Violations violations;
  if (env->target == Target::kMegatronBridge) {
    violations.Add("file",
                   "only scripts that launch megatron-lm or loongforge are read; send Bridge's overrides as arguments");
  }
  if (file.text().size() > kMaxScriptBytes) violations.Add("file.text", "is longer than 1 MiB");
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  Reading reading;
  reading.input = file.name().empty() ? "file" : file.name();
  ShellLaunch launch = ReadShellLaunch(file.text(), env->vars);
  for (const auto& [name, value] : launch.vars) env->vars.insert_or_assign(name, value);
  if (!env->world_size.has_value()) env->world_size = launch.world_size;
  reading.parsed = ParseOwnDialect(launch.args, *env);
  reading.parsed.findings.insert(reading.parsed.findings.begin(), launch.findings.begin(), launch.findings.end());
  return reading;
}

}  // namespace

absl::StatusOr<Reading> ReadConfig(const v1::ValidateConfigRequest& request, Environment* env) {
  Violations violations;
  Reading reading;
  switch (request.config_case()) {
    case v1::ValidateConfigRequest::kArguments: {
      const auto& values = request.arguments().values();
      reading.input = "argv";
      reading.parsed = ParseOwnDialect(Words(values), *env);
      return reading;
    }
    case v1::ValidateConfigRequest::kFile:
      return ReadScript(request.file(), env);
    case v1::ValidateConfigRequest::kKnobs:
      reading.input = "knobs";
      for (const auto& [knob, value] : PinsFromMessages(request.knobs().knobs(), request.knobs().settings(),
                                                        "knobs.knobs", "knobs.settings", &violations)) {
        reading.parsed.knobs.push_back({knob, value, {}});
      }
      FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
      return reading;
    case v1::ValidateConfigRequest::CONFIG_NOT_SET:
      violations.Add("config", "is required: arguments, a file or knobs");
  }
  return violations.ToStatus();
}

}  // namespace flightplan
