#include "resolver/base/nearest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "resolver/base/work.h"

namespace flightplan {
namespace {

constexpr size_t kLongestName = 128;  // longer input is no misspelt name, and so many bits are a column
// In units of base/work.h: to look at a candidate, and at each character of one of a fitting length; for a column of
// its distance; and for what is made of the name itself.
constexpr size_t kWorkOfCandidate = 2, kWorkOfCharacter = 1, kWorkOfColumn = 4, kWorkOfName = 100;

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

// Levenshtein distances from one name: a column of the matrix is a word of bits, one for each of the name's characters
// that says whether the distance grows there, another whether it falls (Myers 1999, in Hyyro's form of 2003).
template <class Bits>
class Distances {
 public:
  explicit Distances(absl::string_view name) : size_(name.size()), last_(size_ == 0 ? 0 : Bits{1} << (size_ - 1)) {
    for (size_t i = 0; i < size_; ++i) places_[static_cast<unsigned char>(name[i])] |= Bits{1} << i;
  }

  // Where it is more than `limit`, any number above that.
  size_t To(absl::string_view other, size_t limit) const {
    size_t distance = size_;
    if (size_ == 0) return other.size();
    Bits grows = ~Bits{0}, falls = 0;
    for (size_t left = other.size(); const char c : other) {
      const Bits same = places_[static_cast<unsigned char>(c)];
      const Bits kept = same | falls;
      const Bits across = (((same & grows) + grows) ^ grows) | same;
      Bits right = falls | ~(across | grows), back = grows & across;  // grows and falls from one column to the next
      if ((right & last_) != 0) ++distance;
      if ((back & last_) != 0) --distance;
      if (distance > limit + --left) return distance;  // each character left takes off one at most
      right = (right << 1) | 1;
      back <<= 1;
      grows = back | ~(kept | right);
      falls = right & kept;
    }
    return distance;
  }

 private:
  size_t size_;
  Bits last_;
  std::array<Bits, 256> places_{};  // of each character in the name
};

template <class Bits>
absl::string_view NearestOf(absl::string_view name, absl::Span<const absl::string_view> candidates, size_t at_least) {
  const uint64_t letters = Letters(name);
  const Distances<Bits> distances(name);
  absl::string_view best;
  size_t best_distance = std::min(std::max(at_least, name.size() / 3), name.size() / 2) + 1;
  for (absl::string_view candidate : candidates) {
    if (candidate.size() > kLongestName || !MayBeNear(name, letters, candidate, best_distance)) continue;
    Work::Spend(kWorkOfColumn * candidate.size());
    const size_t distance = distances.To(candidate, best_distance);
    if (distance < best_distance || (distance == best_distance && !best.empty() && candidate < best)) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace

absl::string_view NearestName(absl::string_view name, absl::Span<const absl::string_view> candidates, size_t at_least) {
  if (name.empty() || name.size() > kLongestName || Work::Spent()) return {};
  Work::Spend(kWorkOfName + kWorkOfCandidate * candidates.size());
  return name.size() <= 64 ? NearestOf<uint64_t>(name, candidates, at_least)
                           : NearestOf<unsigned __int128>(name, candidates, at_least);
}

}  // namespace flightplan
