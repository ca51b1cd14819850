#include "clients/cli/mcp/tools.h"

namespace flightplan::cli {
namespace {

constexpr absl::string_view kModelText[] = {"model_config", "--model",
                                            "text of a Hugging Face config.json, instead of model"};

const std::vector<Tool>& Table() {
  static const std::vector<Tool>* const kTools = new std::vector<Tool>{
      {.name = "resolve",
       .command = "resolve",
       .title = "Resolve a layout",
       .description =
           "A complete training configuration for a model, GPUs and a parallel layout: whether the stack accepts it, "
           "whether it fits, the forecast step time, every knob with its reason. With format (shell, argv, yaml ...) "
           "the "
           "launch itself instead of the page. Sizes that are left open are chosen.",
       .subject = ToolSubject::kNothing,
       .answer = ToolAnswer::kVerdict,
       .required = {"gpu", "gpus"},
       .text_property = kModelText[0],
       .text_flag = kModelText[1],
       .text_help = kModelText[2]},
      {.name = "validate",
       .command = "validate",
       .title = "Judge a launch",
       .description =
           "Judges a finished launch as it stands (a script, an argument list, YAML, Bridge overrides): what the stack "
           "refuses, what fails later, whether it fits, what is changed in silence, each finding with its fix. Decides "
           "nothing. Give gpu and gpus where they are known.",
       .subject = ToolSubject::kLaunch,
       .answer = ToolAnswer::kVerdict},
      {.name = "fix",
       .command = "fix",
       .title = "Repair a launch",
       .description =
           "Repairs a launch that is refused or would fail: a diff of the caller's own text with the verdict on the "
           "repaired one. Changes what is trained only with allow_convergence, and makes room in memory that is tight "
           "only with make_room.",
       .subject = ToolSubject::kLaunch,
       .answer = ToolAnswer::kVerdict},
      {.name = "plan",
       .command = "plan",
       .title = "Search layouts",
       .description =
           "Searches the parallel layouts of a model on a number of GPUs and ranks the best. Sizes that are given are "
           "kept. Takes seconds; reports progress and can be cancelled.",
       .subject = ToolSubject::kNothing,
       .answer = ToolAnswer::kPlans,
       .required = {"gpu", "gpus"},
       .text_property = kModelText[0],
       .text_flag = kModelText[1],
       .text_help = kModelText[2]},
      {.name = "compare",
       .command = "diff",
       .title = "Compare two configurations",
       .description = "Two configurations side by side: knobs, memory by part, time by wall, findings, and why. A side "
                      "is a launch "
                      "(text) or properties of resolve over those that both share.",
       .subject = ToolSubject::kSides,
       .answer = ToolAnswer::kSides,
       .required = {"a", "b"}},
      {.name = "convert",
       .command = "convert",
       .title = "Convert a launch",
       .description =
           "The same launch for another stack or release, with what has no counterpart there and which defaults had to "
           "be written out.",
       .subject = ToolSubject::kLaunch,
       .answer = ToolAnswer::kConversion,
       .required = {"to"}},
      {.name = "explain",
       .command = "explain",
       .title = "Explain a rule or knob",
       .description = "One rule (what, why, upstream source, fix) or one knob (meaning, class, default, spelling for "
                      "each stack, the "
                      "rules that look at it).",
       .subject = ToolSubject::kName,
       .answer = ToolAnswer::kEntry,
       .subject_help = "id of a rule or name of a knob",
       .required = {"name"}},
      {.name = "models",
       .command = "models",
       .title = "List models",
       .description = "The catalogue's models, one model, or a Hugging Face config.json as it is understood.",
       .subject = ToolSubject::kName,
       .answer = ToolAnswer::kModels,
       .subject_help = "one model, or a word in its name or family; absent: all",
       .text_property = "config",
       .text_flag = "--import",
       .text_help = "text of a config.json, instead of name"},
      {.name = "gpus",
       .command = "gpus",
       .title = "List GPU systems",
       .description = "The catalogue's GPU systems with their figures, or one of them with its sources.",
       .subject = ToolSubject::kName,
       .answer = ToolAnswer::kGpus,
       .subject_help = "one GPU system; absent: all"},
      {.name = "releases",
       .command = "version",
       .title = "List framework releases",
       .description = "This build, and the releases of each framework that it judges by.",
       .subject = ToolSubject::kNothing,
       .answer = ToolAnswer::kReleases}};
  return *kTools;
}

}  // namespace

absl::Span<const Tool> Tools() { return Table(); }

const Tool* FindTool(absl::string_view name) {
  for (const Tool& tool : Table()) {
    if (tool.name == name) return &tool;
  }
  return nullptr;
}

}  // namespace flightplan::cli
