#include "resolver/stacks/megatron_bridge/dialect.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/stacks/megatron_bridge/override_reader.h"
#include "resolver/stacks/megatron_bridge/override_writer.h"
#include "resolver/stacks/megatron_bridge/start.h"
#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

using K = Knob;

// `recipe`: the name of its function; empty: a person fills it in.
std::string Command(const RenderInput& input, const std::string& recipe) {
  const bool dora = input.config.Get(K::peft_scheme) == Value("dora");
  return absl::StrCat(
      "uv run ", TorchrunWords(input.env), " scripts/training/run_recipe.py --mode ",
      !AdaptersConfigured(input.config) ? "pretrain" : (dora ? "dora" : "lora"), " --recipe ",
      recipe.empty() ? "\"${RECIPE:?name of the recipe function; or --model NAME in its place}\"" : ShellQuote(recipe));
}

}  // namespace

ParseResult ParseBridge(absl::Span<const Argument> args, const Environment& env) {
  ParseResult result;
  OverrideReader reader(NearestRelease(kBridgeReleases, env.bridge_release), &result);
  for (size_t i = 0; i < args.size(); ++i) {
    if (i >= kMaxArguments) {
      reader.Refuse(args[i], "input.limit", absl::StrCat(args.size(), " overrides"),
                    absl::StrCat("at most ", kMaxArguments));
      break;
    }
    reader.Read(args[i]);
  }
  return result;
}

ParseResult ParseBridge(absl::Span<const std::string> argv, const Environment& env) {
  return ParseBridge(absl::Span<const Argument>(Arguments(argv)), env);
}

Launch RenderBridge(const RenderInput& input) {
  Launch launch;
  launch.dialect = "bridge";
  launch.env = input.vars;
  std::vector<std::pair<Knob, Value>> knobs = KnobsToWrite(input, &launch.unspelled);
  const std::vector<std::string> precision = WritePrecision(input.config, &knobs);
  const bool adapters = AdaptersConfigured(input.config);
  const int release = NearestRelease(kBridgeReleases, input.env.bridge_release);
  std::string recipe(input.config.Get(K::launch_recipe).text());
  const std::optional<Recipe> start =
      recipe.empty() ? RecipeFor(input.hf_model, adapters, release) : std::optional<Recipe>();
  if (start.has_value()) {
    recipe = std::string(start->function);
    const std::vector<std::pair<K, Value>> otherwise = SetOtherwise(*start, input.config, release, knobs);
    knobs.insert(knobs.end(), otherwise.begin(), otherwise.end());
  }
  launch.argv = WriteOverrides(knobs);
  launch.argv.insert(launch.argv.end(), precision.begin(), precision.end());
  MakeObjects(input.config, &launch.argv);
  if (input.config.Given(K::comm_overlap_configured) && !CommOverlapConfigured(input.config)) {
    launch.argv.push_back("comm_overlap=null");
  }
  launch.text = LaunchText(launch.env, Command(input, recipe), launch.argv);
  AskForNodes(input.env, &launch);
  if (recipe.empty()) {
    launch.required_inputs.push_back(
        {"recipe", "the recipe that the overrides are applied to", "--recipe NAME (or --model NAME)",
         adapters ? "--recipe qwen3_30b_a3b_peft_config" : "--recipe qwen3_30b_a3b_pretrain_config", ""});
  }
  if (adapters && input.config.Get(K::pretrained_checkpoint).is_none()) {
    AskForWord("pretrained_checkpoint", "the folder of the model that the adapters are trained on",
               "checkpoint.pretrained_checkpoint=", "PATH", "/checkpoints/base", &launch);
  }
  return launch;
}

}  // namespace flightplan
