// The shape of a model by itself, which every run of the pipeline over a question asks for.
#pragma once

#include <memory>

#include "resolver/plan/model.h"

namespace flightplan {

struct ModelShape;  // resolver/derive

// Null where the model's parameters cannot be counted.
std::shared_ptr<const ModelShape> KnownShape(const ModelSpec& model);

}  // namespace flightplan
