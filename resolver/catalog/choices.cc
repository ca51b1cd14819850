#include "resolver/catalog/choices.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/nearest.h"

namespace flightplan {
namespace {

bool Abbreviates(absl::string_view text, absl::string_view choice) {
  if (text.size() < 2 || choice.empty() || text.front() != choice.front()) return false;
  for (const char c : choice) {
    if (!text.empty() && text.front() == c) text.remove_prefix(1);
  }
  return text.empty();
}

// The one choice that the text is short for ("te", "HFTokenizer"), else the one that it is nearest to.
absl::string_view MeantBy(absl::string_view text, absl::Span<const absl::string_view> choices) {
  const auto is_meant = [text](absl::string_view choice) { return Abbreviates(text, choice); };
  const auto meant = std::find_if(choices.begin(), choices.end(), is_meant);
  if (meant != choices.end() && std::count_if(choices.begin(), choices.end(), is_meant) == 1) return *meant;
  return NearestName(text, choices);
}

}  // namespace

std::vector<absl::string_view> ChoicesInstead(Knob knob, absl::string_view text,
                                              absl::Span<const absl::string_view> choices) {
  const bool trained = Row(knob).knob_class == KnobClass::kConvergence;
  const bool meant = absl::StrContains(absl::StrCat("|", Row(knob).choices, "|"), absl::StrCat("|", text, "|"));
  if (trained && meant) return {};
  const absl::string_view nearest = MeantBy(text, choices);
  std::vector<absl::string_view> instead;
  if (!nearest.empty()) instead.push_back(nearest);
  if (trained) return instead;
  std::copy_if(choices.begin(), choices.end(), std::back_inserter(instead),
               [&](absl::string_view choice) { return choice != nearest; });
  return instead;
}

}  // namespace flightplan
