// The overrides that both spellings of Bridge share. Internal to its folder.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// Reads one override at a time into a ParseResult.
class OverrideReader {
 public:
  static constexpr absl::string_view kUnreadable = "bridge-override.unreadable";
  static constexpr absl::string_view kUnknown = "bridge-override.unknown";

  OverrideReader(int release, ParseResult* out) : release_(release), out_(out) {}
  void Read(const Argument& argument);
  // The same in parts, for a value that has been read: `mixed_precision=bf16_mixed`, `model.num_layers=4`. The argument
  // is for messages and its place.
  void ReadSection(const Argument& argument, absl::string_view section, const Value& value);
  void ReadClass(const Argument& argument, absl::string_view section);
  void ReadField(const Argument& argument, absl::string_view section, absl::string_view field, const Value& value);
  // `target`: the class that says which adapters are trained.
  void KeepAdapters(absl::string_view target, const SourcePosition& at);
  void Unknown(const Argument& argument, absl::string_view section, absl::string_view field);
  void Keep(Knob knob, Value value, const SourcePosition& at);
  void Refuse(const Argument& argument, absl::string_view id, std::string seen, std::string needs);

  static bool KnowsSection(absl::string_view section);
  static std::vector<absl::string_view> Sections();
  // Rules look at its fields.
  static bool LooksInside(absl::string_view section);
  // "the config container has no section x; did you mean y?"
  static std::string UnknownSection(absl::string_view section);
  // The known field of a section nearest to a misspelt one, or an empty view.
  static absl::string_view NearestField(absl::string_view section, absl::string_view field);

 private:
  int release_;
  ParseResult* out_;
};

// A recipe that a launch starts from: its function's name and what that sets.
struct Recipe {
  absl::string_view function, hf_model, overrides;
};
// The recipe of this name, of the library or the performance harness; empty: none that is known for this release.
// `first`: whose it is where both have the name.
enum class RecipePackage { kLibrary, kHarness };
std::optional<Recipe> FindRecipe(absl::string_view name, int release, RecipePackage first = RecipePackage::kHarness);
// Puts what a recipe sets under all that `out` holds. `batch`: its global batch counts too; where the harness scales
// that by GPUs it depends on the layout.
void StartFromRecipe(const Recipe& recipe, bool batch, int release, ParseResult* out);

// The recipe of the library that trains this model of the Hugging Face hub, from the start or its adapters; empty: none
// that is known for this release.
std::optional<Recipe> RecipeFor(absl::string_view hf_model, bool adapters, int release);
// What a recipe sets otherwise than `config` has it, and is not among `written`: with the value of `config`.
std::vector<std::pair<Knob, Value>> SetOtherwise(const Recipe& recipe, const Config& config, int release,
                                                 absl::Span<const std::pair<Knob, Value>> written);

// What has to be written, each where Bridge does not overwrite it; the precision recipe apart.
std::vector<std::pair<Knob, Value>> KnobsToWrite(const RenderInput& input, std::vector<Knob>* unspelled);
std::vector<std::string> WritePrecision(const Config& config, std::vector<std::pair<Knob, Value>>* knobs);
std::vector<std::string> WriteOverrides(const std::vector<std::pair<Knob, Value>>& knobs);

// The launch for a shell: exports, then the command, one override or flag a line.
std::string LaunchText(const EnvVars& vars, absl::string_view command, absl::Span<const std::string> argv);
std::vector<Argument> Arguments(absl::Span<const std::string> argv);

}  // namespace flightplan
