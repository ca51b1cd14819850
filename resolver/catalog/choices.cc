#include "resolver/catalog/choices.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/nearest.h"

namespace flightplan {

std::vector<absl::string_view> ChoicesInstead(Knob knob, absl::string_view text,
                                              absl::Span<const absl::string_view> choices) {
  const bool trained = Row(knob).knob_class == KnobClass::kConvergence;
  const bool meant = absl::StrContains(absl::StrCat("|", Row(knob).choices, "|"), absl::StrCat("|", text, "|"));
  if (trained && meant) return {};
  const absl::string_view nearest = NearestName(text, choices);
  std::vector<absl::string_view> instead;
  if (!nearest.empty()) instead.push_back(nearest);
  if (trained) return instead;
  std::copy_if(choices.begin(), choices.end(), std::back_inserter(instead),
               [&](absl::string_view choice) { return choice != nearest; });
  return instead;
}

}  // namespace flightplan
