// Published recipes as the checkers read them: one JSON object a line, in the format of tests/data/README.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rapidjson/document.h"
#include "resolver/catalog/catalog.h"
#include "resolver/plan/intent.h"

namespace flightplan {

struct Recipe {
  std::string id, origin, release, model, gpu, precision;
  int64_t gpus = 0;
  bool starter = false;       // its authors mark it as untuned
  bool layout_check = false;  // cannot run on its own GPU count
  bool superseded = false;    // a newer release replaced the row
  rapidjson::Document json;
};

// INVALID_ARGUMENT: a line is no recipe, or there is none.
absl::StatusOr<std::vector<Recipe>> ReadRecipes(const char* path);

// The recipe's model, GPU, layout, batch and precision as a request; nothing, with the reason, where a part is not
// known.
std::optional<NormalizedIntent> MakeIntent(const Catalog& catalog, const Recipe& recipe, std::string* why);

// Fields of a recipe; empty or nothing where the field is absent, null or of another type.
std::string Text(const rapidjson::Value& object, const char* name);
std::optional<int64_t> Number(const rapidjson::Value& object, const char* name);
std::optional<bool> Flag(const rapidjson::Value& object, const char* name);

}  // namespace flightplan
