#include "resolver/stacks/loongforge/model_override.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "resolver/base/status_macros.h"
#include "resolver/read/hydra_value.h"

namespace flightplan {
namespace {

bool IsKey(absl::string_view text) {
  return !text.empty() && (absl::ascii_isalpha(text[0]) || text[0] == '_') &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(c) || absl::StrContains("_-./@:$", absl::string_view(&c, 1));
         });
}

}  // namespace

absl::StatusOr<ModelOverride> ReadModelOverride(absl::string_view text) {
  ModelOverride change;
  if (absl::ConsumePrefix(&text, "~")) {
    change.sign = ModelOverride::Sign::kDelete;
  } else if (absl::ConsumePrefix(&text, "++")) {
    change.sign = ModelOverride::Sign::kForce;
  } else if (absl::ConsumePrefix(&text, "+")) {
    change.sign = ModelOverride::Sign::kAdd;
  }
  const size_t sign = text.find('=');
  const bool valued = sign != absl::string_view::npos;
  change.key = std::string(text.substr(0, sign));
  if (!IsKey(change.key) || (!valued && change.sign != ModelOverride::Sign::kDelete)) {
    return absl::InvalidArgumentError(
        "it belongs to no flag, and is no key=value that Hydra could put into the model's YAML");
  }
  if (valued) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(Value value, ReadHydraValue(text.substr(sign + 1)));
    change.value = std::move(value);
  }
  return change;
}

}  // namespace flightplan
