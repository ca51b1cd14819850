#include "resolver/pipeline/known_shape.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "resolver/derive/shape.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {

std::shared_ptr<const ModelShape> KnownShape(const ModelSpec& model) {
  absl::StatusOr<ModelShape> shape = MakeShape(model);
  return shape.ok() ? std::make_shared<const ModelShape>(*std::move(shape)) : nullptr;
}

std::optional<ModelSpec> PinnedModel(const NormalizedIntent& intent, const Config& config) {
  const bool pinned = std::any_of(intent.pins.begin(), intent.pins.end(),
                                  [](const auto& pin) { return FindModelField(Name(pin.first)) != nullptr; });
  return pinned ? ChangedModel(intent.model, config) : std::nullopt;
}

}  // namespace flightplan
