#include "resolver/derive/steady_passes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "resolver/base/work.h"

namespace flightplan {
namespace {

// Beyond any pipeline that somebody ran; what has more is taken to be even.
constexpr size_t kMostKinds = 16;
constexpr int64_t kMostSteps = 1 << 16;  // ranks of all slots
// In units of base/work.h; a slot is told from those before it.
constexpr size_t kWorkOfChunk = 4, kWorkOfRankInSlot = 2, kWorkOfSlot = 32, kWorkOfPair = 8;

// A chunk that holds no more of anything than another.
bool Covers(const RankContents& a, const RankContents& b) {
  for (size_t k = 0; k < a.layers.size(); ++k) {
    if (a.layers[k] < b.layers[k]) return false;
  }
  return a.mtp_depths >= b.mtp_depths && a.losses >= b.losses;
}

bool SameWork(const ChunkContents& a, const ChunkContents& b) {
  return a.layers == b.layers && a.mtp_depths == b.mtp_depths && a.loss == b.loss;
}

// The distinct chunks, and which of them each chunk is.
struct Kinds {
  std::vector<RankContents> chunks;
  std::vector<uint8_t> of;
  std::array<uint16_t, kMostKinds> covered_by{};  // bit a of entry b: a covers b
};

bool FindKinds(const StageLayout& layout, Kinds* kinds) {
  std::array<const ChunkContents*, kMostKinds> first{};  // of each kind
  Work::Spend(kWorkOfChunk * layout.chunks.size());
  kinds->of.reserve(layout.chunks.size());
  kinds->chunks.reserve(kMostKinds);
  size_t kind = 0;
  for (const ChunkContents& chunk : layout.chunks) {
    // Chunks of a kind mostly follow each other.
    if (first[kind] == nullptr || !SameWork(chunk, *first[kind])) {
      for (kind = 0; kind < kinds->chunks.size() && !SameWork(chunk, *first[kind]);) ++kind;
      if (kind == kMostKinds) return false;
      if (kind == kinds->chunks.size()) {
        first[kind] = &chunk;
        kinds->chunks.push_back(ContentsOf(chunk));
      }
    }
    kinds->of.push_back(static_cast<uint8_t>(kind));
  }
  for (size_t a = 0; a < kinds->chunks.size(); ++a) {
    for (size_t b = 0; b < kinds->chunks.size(); ++b) {
      if (Covers(kinds->chunks[a], kinds->chunks[b])) kinds->covered_by[b] |= static_cast<uint16_t>(1u << a);
    }
  }
  return true;
}

// Pairs of kinds that run at one time: a bit for each, by forward and then by backward.
class PairSet {
 public:
  static size_t BitOf(size_t forward, size_t backward) { return forward * kMostKinds + backward; }
  void Add(size_t bit) { words_[bit / 64] |= uint64_t{1} << bit % 64; }
  bool Meets(const PairSet& other) const {
    uint64_t both = 0;
    for (size_t i = 0; i < words_.size(); ++i) both |= words_[i] & other.words_[i];
    return both != 0;
  }
  // Calls visit(forward, backward) in order.
  template <class Visit>
  void ForEach(Visit visit) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t left = words_[i]; left != 0; left &= left - 1) {
        const size_t bit = 64 * i + static_cast<size_t>(std::countr_zero(left));
        visit(bit / kMostKinds, bit % kMostKinds);
      }
    }
  }
  template <class H>
  friend H AbslHashValue(H hash, const PairSet& set) {
    return H::combine(std::move(hash), set.words_);
  }
  friend bool operator==(const PairSet& a, const PairSet& b) {
    uint64_t differ = 0;
    for (size_t i = 0; i < a.words_.size(); ++i) differ |= a.words_[i] ^ b.words_[i];
    return differ == 0;
  }

 private:
  std::array<uint64_t, kMostKinds * kMostKinds / 64> words_{};
};

// What all ranks run in each slot of a cycle. The last rank runs its k-th backward in slot k, the one before it one
// slot later, and a forward that is ahead by the passes of its warm-up.
std::vector<PairSet> PairsBySlot(const StageLayout& layout, const Kinds& kinds) {
  const int pp = layout.pp, vpp = layout.vpp, cycle = pp * vpp;
  Work::Spend(kWorkOfRankInSlot * static_cast<size_t>(cycle) * static_cast<size_t>(pp));
  std::vector<PairSet> slots(static_cast<size_t>(cycle));
  const auto kind_of = [&](int chunk, int rank) {
    return size_t{kinds.of[static_cast<size_t>(chunk) * static_cast<size_t>(pp) + static_cast<size_t>(rank)]};
  };
  for (int rank = 0; rank < pp; ++rank) {
    const int below = pp - 1 - rank;
    int forward = (cycle - below + 2 * below + (vpp - 1) * pp + 1) % cycle, backward = (cycle - below) % cycle;
    // Passes of a rank are runs of pp of one chunk: the pair changes where a run of either ends.
    for (int slot = 0, end = 0; slot < cycle; slot = end) {
      const int run = pp - std::max(forward % pp, backward % pp);
      end = std::min(cycle, slot + run);
      const size_t pair = PairSet::BitOf(kind_of(forward / pp, rank), kind_of(vpp - 1 - backward / pp, rank));
      for (int i = slot; i < end; ++i) slots[static_cast<size_t>(i)].Add(pair);
      forward = (forward + run) % cycle;
      backward = (backward + run) % cycle;
    }
  }
  return slots;
}

// By the bit of a pair: those that cover it, without itself.
std::vector<PairSet> CoveringPairs(const Kinds& kinds) {
  const size_t count = kinds.chunks.size();
  std::vector<PairSet> covering(PairSet::BitOf(count, 0));
  for (size_t forward = 0; forward < count; ++forward) {
    for (size_t backward = 0; backward < count; ++backward) {
      const size_t own = PairSet::BitOf(forward, backward);
      for (unsigned f = kinds.covered_by[forward]; f != 0; f &= f - 1) {
        for (unsigned b = kinds.covered_by[backward]; b != 0; b &= b - 1) {
          const size_t other =
              PairSet::BitOf(static_cast<size_t>(std::countr_zero(f)), static_cast<size_t>(std::countr_zero(b)));
          if (other != own) covering[own].Add(other);
        }
      }
    }
  }
  return covering;
}

// Without pairs that another one covers. Kinds differ, so that of two pairs at most one covers the other.
PairSet LongestOf(const PairSet& set, const std::vector<PairSet>& covering) {
  PairSet longest;
  set.ForEach([&](size_t forward, size_t backward) {
    Work::Spend(kWorkOfPair);
    const size_t own = PairSet::BitOf(forward, backward);
    if (!set.Meets(covering[own])) longest.Add(own);
  });
  return longest;
}

// Sets of pairs with how often each comes, in the order in which they come first. A deep model with an irregular
// pattern has as many as slots: of more than a few, a table says which are known.
class SetCounts {
 public:
  explicit SetCounts(size_t most) { counts_.reserve(most); }
  void Add(const PairSet& set, int64_t times) {
    const size_t at = Find(set);
    if (at < counts_.size()) {
      counts_[at].second += times;
      return;
    }
    counts_.emplace_back(set, times);
    if (counts_.size() == kFew) {
      for (size_t i = 0; i < counts_.size(); ++i) places_.emplace(counts_[i].first, i);
    } else if (counts_.size() > kFew) {
      places_.emplace(set, at);
    }
  }
  const std::vector<std::pair<PairSet, int64_t>>& counts() const { return counts_; }

 private:
  static constexpr size_t kFew = 32;
  // How many there are, where it is new.
  size_t Find(const PairSet& set) const {
    if (counts_.size() >= kFew) {
      const auto known = places_.find(set);
      return known == places_.end() ? counts_.size() : known->second;
    }
    const auto known = std::find_if(counts_.begin(), counts_.end(), [&](const auto& one) { return one.first == set; });
    return static_cast<size_t>(known - counts_.begin());
  }
  std::vector<std::pair<PairSet, int64_t>> counts_;
  absl::flat_hash_map<PairSet, size_t> places_;  // empty while there are few
};

}  // namespace

SteadyPasses SteadyPassesOf(const StageLayout& layout) {
  const int64_t cycle = int64_t{layout.pp} * layout.vpp;
  Kinds kinds;
  if (layout.pp <= 1 || layout.vpp <= 1 || cycle * layout.pp > kMostSteps || !FindKinds(layout, &kinds)) return {};
  if (kinds.chunks.size() == 1) return {};
  Work::Spend(kWorkOfSlot * static_cast<size_t>(cycle));
  SetCounts sets(static_cast<size_t>(cycle));  // with how many slots have them
  for (const PairSet& slot : PairsBySlot(layout, kinds)) sets.Add(slot, 1);
  SetCounts slots(sets.counts().size());
  const std::vector<PairSet> covering = CoveringPairs(kinds);
  for (const auto& [set, times] : sets.counts()) slots.Add(LongestOf(set, covering), times);
  SteadyPasses steady;
  steady.chunks = std::move(kinds.chunks);
  for (const auto& [pairs, count] : slots.counts()) {
    pairs.ForEach([&](size_t forward, size_t backward) {
      steady.pairs.push_back({static_cast<uint8_t>(forward), static_cast<uint8_t>(backward)});
    });
    steady.slots.push_back(
        {static_cast<uint32_t>(steady.pairs.size()), static_cast<double>(count) / static_cast<double>(cycle)});
  }
  return steady;
}

void KeepSteadyPasses(StageLayout* layout) {
  if (layout->steady == nullptr) layout->steady = std::make_shared<const SteadyPasses>(SteadyPassesOf(*layout));
}

}  // namespace flightplan
