// The model that a launch names by its Hugging Face name or folder, as the catalogue has it.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "resolver/catalog/catalog.h"

namespace flightplan {

struct NamedModel {
  const ModelSpec* model = nullptr;  // null: the catalogue has none, or several
  bool exact = false;                // the name is the catalogue's own, not a sibling's: -Base, -Instruct, a date
};

// `name`: "Qwen/Qwen3-30B-A3B", or a folder that ends in its last part: "/models/Qwen3-30B-A3B-Base". A sibling has the
// same shape: what a model was trained on last is a suffix of its name, or the name is another one of the catalogue's
// row.
NamedModel FindNamedModel(const Catalog& catalog, absl::string_view name);

}  // namespace flightplan
