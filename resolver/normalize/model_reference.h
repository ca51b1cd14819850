// The model of a request: a name of the catalogue, sizes spelled out, or a Hugging Face config.json.
#pragma once

#include <string>
#include <vector>

#include "resolver/catalog/catalog.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/model.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class ModelRef;
}  // namespace v1

// `notes`: what of a config.json is not taken as it says; null: nobody is told.
ModelSpec ModelFromReference(const v1::ModelRef& reference, const Catalog& catalog, std::vector<std::string>* notes,
                             Violations* violations);

}  // namespace flightplan
