#include "resolver/catalog/images.h"

#include <algorithm>

namespace flightplan {

const Image* ImageOf(absl::string_view stack, int release) {
  const absl::Span<const Image> images = Images();
  const auto* const at = std::find_if(images.begin(), images.end(), [&](const Image& image) {
    return image.stack == stack && image.release == release;
  });
  return at == images.end() ? nullptr : at;
}

}  // namespace flightplan
