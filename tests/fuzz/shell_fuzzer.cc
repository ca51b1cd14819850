// A launch script: words, variables, the launcher's size; then the arguments by the target that they look like.
#include <cstddef>
#include <cstdint>

#include "resolver/shell/reader.h"
#include "resolver/stacks/input_format.h"
#include "tests/fuzz/feedback.h"

namespace flightplan::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  Environment env;
  const ShellLaunch launch = ReadShellLaunch(text, {{"GPUS", "8"}, {"EMPTY", ""}});
  if (!launch.script.empty()) Met("a script is run");
  if (launch.world_size.has_value()) Met("world size");
  for (const auto& [name, value] : launch.vars) Met(value.empty() ? "empty variable" : "variable");
  for (const ParseFinding& entry : launch.findings) Met(entry.finding.needs);
  for (Target target : {Target::kMegatronLm, Target::kMegatronBridge}) {
    env.target = target;
    Met(RecogniseArguments(launch.args, launch.script, target).arguments(launch.args, env));
  }
  return 0;
}

}  // namespace flightplan::fuzz
