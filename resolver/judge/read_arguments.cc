#include "resolver/judge/read_arguments.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/catalog/library_recipes.h"
#include "resolver/plan/stack.h"

namespace flightplan {

std::string BesideTheRecipe(absl::string_view recipe) {
  if (recipe.empty()) {
    return "the recipe's own values: what is written here is judged over the class defaults; dump the whole "
           "configuration (ConfigContainer.to_yaml) and validate that file";
  }
  return absl::StrCat("of the recipe ", recipe, ", read at Megatron-Bridge@067f987df, ",
                      IsLibraryRecipe(recipe)
                          ? "what the model's own classes have that it does not set"
                          : "what it sets beside layout, batch, precision, dispatcher, overlap, recompute, graphs and "
                            "variables");
}

void NoteWhatIsElsewhere(absl::Span<const Argument> args, absl::string_view format, const Environment& env,
                         Reading* reading) {
  if (format == "bridge-overrides" || format == "bridge-recipe" || format == "bridge-perf" || format == kPythonFormat) {
    reading->not_judged.push_back(BesideTheRecipe(reading->parsed.base));
  }
  for (const Argument& arg : args) {
    const bool yaml = arg.text == "--yaml-cfg" || absl::StartsWith(arg.text, "--yaml-cfg=");
    const bool file = arg.text == "--config-file" || absl::StartsWith(arg.text, "--config-file=");
    if (!yaml && !file) continue;
    if (file && StackOf(env).model_files && reading->parsed.model_file_read) continue;
    reading->not_judged.push_back(
        absl::StrCat("the YAML file of ", arg.text.substr(0, arg.text.find('=')), ": its values win over these; ",
                     file ? "validate it with --stack-root, or that file" : "validate that file"));
  }
}

void ReadArguments(std::vector<Argument> args, absl::string_view script, bool over_defaults, const InputFormat& format,
                   const Environment& env, Reading* reading) {
  reading->args = std::move(args);
  reading->parsed = format.arguments(reading->args, env);
  reading->knowledge = KnowledgeOf(env.target, {script, reading->args, over_defaults}, reading->parsed);
  for (std::string& what : reading->parsed.not_judged) reading->not_judged.push_back(std::move(what));
  reading->parsed.not_judged.clear();
  NoteWhatIsElsewhere(reading->args, format.name, env, reading);
}

}  // namespace flightplan
