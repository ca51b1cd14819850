#include "resolver/base/nearest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "resolver/base/work.h"

namespace flightplan {
namespace {

constexpr size_t kLongestName = 128;  // longer input is no misspelt name, and the distance is quadratic
// In units of base/work.h: to look at a candidate, and at each character of one of a fitting length.
constexpr size_t kWorkOfCandidate = 2, kWorkOfCharacter = 1;

// Which characters there are.
uint64_t Letters(absl::string_view text) {
  uint64_t letters = 0;
  for (const char c : text) letters |= uint64_t{1} << (static_cast<unsigned char>(c) % 64);
  return letters;
}

// Whether the distance may be within `limit`: each edit takes or brings one character.
bool MayBeNear(absl::string_view a, uint64_t letters_of_a, absl::string_view b, size_t limit) {
  const size_t gap = std::max(a.size(), b.size()) - std::min(a.size(), b.size());
  if (gap > limit) return false;
  Work::Spend(kWorkOfCharacter * b.size());
  const uint64_t letters_of_b = Letters(b);
  const int missing =
      std::max(std::popcount(letters_of_a & ~letters_of_b), std::popcount(letters_of_b & ~letters_of_a));
  return static_cast<size_t>(missing) <= limit;
}

// Levenshtein distance of names of at most kLongestName; where it is more than `limit`, any number above that.
size_t Distance(absl::string_view a, absl::string_view b, size_t limit) {
  std::array<size_t, kLongestName + 1> row;
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    size_t least = row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
      least = std::min(least, row[j]);
    }
    if (least > limit) return least;  // and no row below has less
  }
  return row[b.size()];
}

}  // namespace

absl::string_view NearestName(absl::string_view name, absl::Span<const absl::string_view> candidates, size_t at_least) {
  if (name.size() > kLongestName || Work::Spent()) return {};
  Work::Spend(kWorkOfCandidate * candidates.size());
  const uint64_t letters = Letters(name);
  absl::string_view best;
  size_t best_distance = std::max(at_least, name.size() / 3) + 1;
  for (absl::string_view candidate : candidates) {
    if (candidate.size() > kLongestName || !MayBeNear(name, letters, candidate, best_distance)) continue;
    Work::Spend(kWorkOfCharacter * name.size() * candidate.size());
    const size_t distance = Distance(name, candidate, best_distance);
    if (distance < best_distance || (distance == best_distance && !best.empty() && candidate < best)) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace flightplan
