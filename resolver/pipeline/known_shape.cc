#include "resolver/pipeline/known_shape.h"

#include <utility>

#include "absl/status/statusor.h"
#include "resolver/derive/shape.h"

namespace flightplan {

std::shared_ptr<const ModelShape> KnownShape(const ModelSpec& model) {
  absl::StatusOr<ModelShape> shape = MakeShape(model);
  return shape.ok() ? std::make_shared<const ModelShape>(*std::move(shape)) : nullptr;
}

}  // namespace flightplan
