#include "resolver/base/nearest.h"

#include <algorithm>
#include <vector>

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

absl::string_view NearestName(absl::string_view name, absl::Span<const absl::string_view> candidates, size_t at_least) {
  if (name.size() > kLongestName) return {};
  absl::string_view best;
  size_t best_distance = std::max(at_least, name.size() / 3) + 1;
  for (absl::string_view candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    const size_t gap = std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size());
    if (gap > best_distance) continue;  // the distance is at least the difference in length
    const size_t distance = Distance(name, candidate);
    if (distance < best_distance || (distance == best_distance && !best.empty() && candidate < best)) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace flightplan
