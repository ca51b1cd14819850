#include "resolver/stacks/spelling.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/path.h"
#include "resolver/stacks/edit_launch.h"
#include "resolver/stacks/megatron_bridge/dialect.h"
#include "resolver/stacks/megatron_bridge/yaml.h"
#include "resolver/stacks/yaml_schema.h"

namespace flightplan {
namespace {

constexpr InputFormat kFormats[] = {
    {.name = "bridge-overrides", .arguments = ParseBridge},
    {.name = "bridge-recipe", .arguments = ParseBridgeRecipe},
    {.name = "bridge-perf", .arguments = ParseBridgePerf},
    {.name = "bridge-yaml", .file = ParseBridgeYaml, .schema = BridgeYamlSchema, .keys = IsBridgeYaml},
    {.name = kPythonFormat, .file = ParseBridgePython, .part = true, .edit = EditPython},
};

constexpr OutputDialect kDialects[] = {
    {"megatron-bridge", RenderBridge},
    {"megatron-bridge-perf", RenderBridgePerf},
};

// Overrides alone; with --recipe, --model or --mode those of run_recipe.py; with other flags those of the performance
// harness. The script says it by its name.
absl::string_view Recognise(absl::Span<const Argument> args, absl::string_view script) {
  const absl::string_view file = FileName(script);
  const auto has = [args](absl::string_view flag) {
    return std::any_of(args.begin(), args.end(), [flag](const Argument& arg) {
      return arg.text == flag || absl::StartsWith(arg.text, absl::StrCat(flag, "="));
    });
  };
  if (absl::StrContains(script, "performance/") || file == "run_script.py") return "bridge-perf";
  if (file == "run_recipe.py" || has("--recipe") || has("--model") || has("--mode")) return "bridge-recipe";
  const bool flags =
      std::any_of(args.begin(), args.end(), [](const Argument& a) { return absl::StartsWith(a.text, "-"); });
  return flags ? "bridge-perf" : "bridge-overrides";
}

}  // namespace

extern const StackSpelling kMegatronBridgeSpelling;
const StackSpelling kMegatronBridgeSpelling = {
    .target = Target::kMegatronBridge, .formats = kFormats, .recognise = Recognise, .dialects = kDialects};

}  // namespace flightplan
