// The names by which evidence is asked for.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace flightplan::service {

// The name that reports of a GPU or model have: `known`, what the catalogue calls the one that a word names. A name
// that the catalogue does not have, of a site's that was, stays as it is while there is evidence of it; else `known`'s
// error.
template <class Held>
absl::StatusOr<std::string> NameInEvidence(const absl::StatusOr<std::string>& known, const std::string& word,
                                           const Held& held) {
  if (word.empty() || (!known.ok() && held(word))) return word;
  return known;
}

}  // namespace flightplan::service
