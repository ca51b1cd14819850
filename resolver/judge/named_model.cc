#include "resolver/judge/named_model.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace flightplan {
namespace {

// Suffixes that say what a model was trained on, not what it is.
constexpr absl::string_view kTrainings[] = {"base", "bf16",  "chat", "fp8",       "hf",      "instruct",
                                            "it",   "nvfp4", "pt",   "reasoning", "thinking"};
// What Meta put before Llama's names until its repositories were renamed.
constexpr absl::string_view kPrefix = "meta-llama-";

bool IsDate(absl::string_view part) {
  return part.size() == 4 &&
         std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// The name without organization, folder and suffixes, in lower case.
std::string ShapeName(absl::string_view name) {
  while (absl::ConsumeSuffix(&name, "/")) {
  }
  std::string shape = absl::AsciiStrToLower(name.substr(name.rfind('/') + 1));
  for (size_t dash = shape.rfind('-'); dash != std::string::npos && dash > 0; dash = shape.rfind('-')) {
    const absl::string_view last = absl::string_view(shape).substr(dash + 1);
    if (!IsDate(last) && std::find(std::begin(kTrainings), std::end(kTrainings), last) == std::end(kTrainings)) break;
    shape.resize(dash);
  }
  if (absl::StartsWith(shape, kPrefix)) shape.erase(0, kPrefix.find('-') + 1);
  return shape;
}

}  // namespace

NamedModel FindNamedModel(const Catalog& catalog, absl::string_view name) {
  NamedModel sibling;
  const std::string shape = ShapeName(name);
  if (shape.empty()) return sibling;
  bool several = false;
  for (const ModelSpec& model : catalog.models()) {
    if (!model.hf_id.has_value()) continue;
    if (*model.hf_id == name) return {&model, /*exact=*/true};
    const bool alias = std::find(model.aliases.begin(), model.aliases.end(), shape) != model.aliases.end();
    if (!alias && ShapeName(*model.hf_id) != shape) continue;
    several = sibling.model != nullptr;
    sibling.model = &model;
  }
  return several ? NamedModel() : sibling;
}

}  // namespace flightplan
