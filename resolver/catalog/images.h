// What a stack's own image has installed: the default for what a question for a launch does not say of its software.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flightplan {

struct Image {
  absl::string_view stack;
  int release = 0;
  absl::string_view te;  // Transformer Engine
  absl::string_view torch;
  absl::Span<const absl::string_view> backends;  // of the flex dispatcher
  int compute = 0;                               // the oldest compute capability that these are built for
  absl::string_view source;
};
absl::Span<const Image> Images();  // images.yaml

// The image of a release; null: none is known.
const Image* ImageOf(absl::string_view stack, int release);

}  // namespace flightplan
