#include "resolver/base/nearest.h"

#include <algorithm>
#include <cstddef>

namespace flightplan {
namespace {

constexpr size_t kLongestName = 128;  // longer input is no misspelt name, and the distance is quadratic

// Levenshtein distance.
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

absl::string_view NearestName(absl::string_view name, const std::vector<absl::string_view>& candidates) {
  if (name.size() > kLongestName) return {};
  absl::string_view best;
  size_t best_distance = std::max<size_t>(2, name.size() / 3) + 1;
  for (absl::string_view candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    // The lengths alone put it further away.
    const size_t longer = std::max(candidate.size(), name.size()), shorter = std::min(candidate.size(), name.size());
    if (longer - shorter > best_distance) continue;
    const size_t distance = Distance(name, candidate);
    if (distance < best_distance || (distance == best_distance && !best.empty() && candidate < best)) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace flightplan
