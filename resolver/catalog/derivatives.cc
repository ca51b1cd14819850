#include "resolver/catalog/derivatives.h"

#include <algorithm>

namespace flightplan {

absl::string_view DerivativeOf(absl::Span<const Argument> args) {
  for (const Argument& arg : args) {
    const absl::string_view flag = absl::string_view(arg.text).substr(0, arg.text.find('='));
    for (const Derivative& derivative : Derivatives()) {
      if (std::binary_search(derivative.flags.begin(), derivative.flags.end(), flag)) return derivative.name;
    }
  }
  return "";
}

}  // namespace flightplan
