// The shape of a model by itself, which every run of the pipeline over a question asks for.
#pragma once

#include <memory>
#include <optional>

#include "resolver/plan/config.h"
#include "resolver/plan/intent.h"
#include "resolver/plan/model.h"

namespace flightplan {

struct ModelShape;  // resolver/derive

// Null where the model's parameters cannot be counted.
std::shared_ptr<const ModelShape> KnownShape(const ModelSpec& model);

// The model as the caller's own words change it, where they do.
std::optional<ModelSpec> PinnedModel(const NormalizedIntent& intent, const Config& config);

}  // namespace flightplan
