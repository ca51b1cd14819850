// Lines of a recipe in Python, as the documents of Megatron-Bridge show them. Nothing is executed.
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/read/hydra_value.h"
#include "resolver/read/python_line.h"
#include "resolver/stacks/megatron_bridge/dialect.h"
#include "resolver/stacks/megatron_bridge/override_reader.h"
#include "resolver/stacks/megatron_bridge/start.h"

namespace flightplan {
namespace {

class PythonReader {
 public:
  PythonReader(int release, ParseResult* out) : release_(release), reader_(release, out), out_(out) {}

  void Read(absl::string_view line, int number) {
    absl::string_view import = absl::StripLeadingAsciiWhitespace(line);
    if (absl::ConsumePrefix(&import, "from ")) return Import(PythonStatement(import));
    const std::optional<PythonAssignment> assignment = ReadPythonAssignment(line);
    if (!assignment.has_value()) return;
    const absl::string_view value = assignment->value;
    const SourcePosition at{-1, number, static_cast<int>(assignment->statement.data() - line.data()) + 1};
    const std::vector<absl::string_view> parts = absl::StrSplit(assignment->name, absl::MaxSplits('.', 2));
    if (parts.size() == 1) return StartFrom(value);
    const Argument argument{std::string(assignment->statement), at};
    if (parts.size() == 3) {
      SetField(argument, parts[1], parts[2], value);
    } else if (const absl::StatusOr<Value> read = ReadHydraValue(HydraOfPython(value));
               read.ok() && !IsExpression(value)) {
      reader_.ReadSection(argument, parts[1], *read);
    }
  }

  // Puts the recipe under what is written; once, since a text of 1 MiB has room for many thousand starts.
  void Finish() {
    if (start_.has_value()) StartFromRecipe(*start_, /*batch=*/true, release_, out_);
  }

 private:
  static bool IsExpression(absl::string_view value) {
    return absl::StrContains(value.substr(1), '(') || absl::EndsWith(value, "\\");
  }

  // `from megatron.bridge.recipes.qwen import qwen3_30b_a3b_pretrain_config as pretrain`
  void Import(absl::string_view line) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(" import ", 1));
    if (!absl::StrContains(parts.first, "bridge.recipes")) return;
    for (const absl::string_view item : absl::StrSplit(parts.second, absl::ByAnyChar(",()"), absl::SkipWhitespace())) {
      const std::vector<absl::string_view> words = absl::StrSplit(item, ' ', absl::SkipWhitespace());
      if (of_library_.size() == kMostImports) return;
      if (words.size() == 1 || (words.size() == 3 && words[1] == "as")) of_library_[words.back()] = words.front();
    }
  }

  // `cfg = qwen3_30b_a3b_pretrain_16gpu_h100_bf16_config()`: a new configuration, without what was written before.
  void StartFrom(absl::string_view call) {
    absl::string_view function = call.substr(0, call.find('('));
    function.remove_prefix(function.rfind('.') + 1);
    const auto imported = of_library_.find(function);
    const bool library = imported != of_library_.end();
    const std::optional<Recipe> recipe = FindRecipe(library ? imported->second : function, release_,
                                                    library ? RecipePackage::kLibrary : RecipePackage::kHarness);
    if (!recipe.has_value()) return;
    start_ = recipe;
    out_->knobs.clear();
    out_->components.clear();
    out_->recipe_vars.clear();
    out_->unknown.clear();
  }

  void SetField(const Argument& argument, absl::string_view section, absl::string_view field, absl::string_view value) {
    const absl::StatusOr<Value> read = ReadHydraValue(HydraOfPython(value));
    if (read.ok() && !IsExpression(value)) return reader_.ReadField(argument, section, field, *read);
    // Only a run would know it.
    if (const std::optional<Knob> knob = FindBridgeField(section, field)) {
      out_->unknown.push_back(*knob);
    } else {
      reader_.Unknown(argument, section, field);
    }
  }

  static constexpr size_t kMostImports = 256;

  const int release_;
  OverrideReader reader_;
  absl::flat_hash_map<absl::string_view, absl::string_view> of_library_;  // by the names that the text has for them
  std::optional<Recipe> start_;                                           // the last one
  ParseResult* const out_;
};

}  // namespace

ParseResult ParseBridgePython(absl::string_view text, const Environment& env) {
  ParseResult result;
  PythonReader reader(NearestRelease(kBridgeReleases, env.bridge_release), &result);
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) reader.Read(line, ++number);
  reader.Finish();
  return result;
}

}  // namespace flightplan
