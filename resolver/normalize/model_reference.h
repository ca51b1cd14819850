// The model of a request: a name of the catalogue, sizes spelled out, or a Hugging Face config.json.
#pragma once

#include "resolver/catalog/catalog.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/model.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class ModelRef;
}  // namespace v1

ModelSpec ModelFromReference(const v1::ModelRef& reference, const Catalog& catalog, Violations* violations);

}  // namespace flightplan
