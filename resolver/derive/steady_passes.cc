#include "resolver/derive/steady_passes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace flightplan {
namespace {

// Beyond any pipeline that somebody ran; what has more is taken to be even.
constexpr size_t kMostKinds = 16;
constexpr int64_t kMostSteps = 1 << 16;  // ranks of all slots

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

// Pairs of kinds that run at one time: 16 bits for each forward, one for each backward beside it.
class PairSet {
 public:
  void Add(size_t forward, size_t backward) {
    words_[forward / 4] |= uint64_t{1} << (forward % 4 * kMostKinds + backward);
  }
  unsigned Beside(size_t forward) const {
    return static_cast<unsigned>(words_[forward / 4] >> (forward % 4 * kMostKinds)) & 0xffffu;
  }
  friend bool operator==(const PairSet& a, const PairSet& b) {
    uint64_t differ = 0;
    for (size_t i = 0; i < a.words_.size(); ++i) differ |= a.words_[i] ^ b.words_[i];
    return differ == 0;
  }

 private:
  std::array<uint64_t, kMostKinds / 4> words_{};
};
using Pairs = absl::InlinedVector<PassPair, 16>;

// What all ranks run in each slot of a cycle. The last rank runs its k-th backward in slot k, the one before it one
// slot later, and a forward that is ahead by the passes of its warm-up.
std::vector<PairSet> PairsBySlot(const StageLayout& layout, const Kinds& kinds) {
  const int pp = layout.pp, vpp = layout.vpp, cycle = pp * vpp;
  std::vector<PairSet> slots(static_cast<size_t>(cycle));
  // A rank's passes are runs of pp of one chunk.
  struct Pass {
    int chunk, left;  // of the run, with this one
  };
  const auto start = [&](int pass) { return Pass{pass / pp, pp - pass % pp}; };
  const auto next = [&](Pass* pass) {
    if (--pass->left > 0) return false;
    *pass = {pass->chunk + 1 == vpp ? 0 : pass->chunk + 1, pp};
    return true;
  };
  for (int rank = 0; rank < pp; ++rank) {
    const int below = pp - 1 - rank;
    Pass forward = start((cycle - below + 2 * below + (vpp - 1) * pp + 1) % cycle);
    Pass backward = start((cycle - below) % cycle);
    size_t forward_kind = kinds.of[static_cast<size_t>(forward.chunk * pp + rank)];
    size_t backward_kind = kinds.of[static_cast<size_t>((vpp - 1 - backward.chunk) * pp + rank)];
    for (PairSet& slot : slots) {
      slot.Add(forward_kind, backward_kind);
      if (next(&forward)) forward_kind = kinds.of[static_cast<size_t>(forward.chunk * pp + rank)];
      if (next(&backward)) backward_kind = kinds.of[static_cast<size_t>((vpp - 1 - backward.chunk) * pp + rank)];
    }
  }
  return slots;
}

// Without pairs that another one covers, in order. Kinds differ, so that of two pairs at most one covers the other.
Pairs LongestOf(const PairSet& set, const Kinds& kinds) {
  Pairs longest;
  const size_t count = kinds.chunks.size();
  const auto covered = [&](size_t forward, size_t backward) {
    for (size_t other = 0; other < count; ++other) {
      if ((kinds.covered_by[forward] >> other & 1) == 0) continue;
      unsigned covering = set.Beside(other) & kinds.covered_by[backward];
      if (other == forward) covering &= ~(1u << backward);
      if (covering != 0) return true;
    }
    return false;
  };
  for (size_t forward = 0; forward < count; ++forward) {
    const unsigned beside = set.Beside(forward);
    for (size_t backward = 0; beside >> backward != 0; ++backward) {
      if ((beside >> backward & 1) == 0 || covered(forward, backward)) continue;
      longest.push_back({static_cast<uint8_t>(forward), static_cast<uint8_t>(backward)});
    }
  }
  return longest;
}

// Adds to the count of the value, which comes last where it is new.
template <class T>
void Count(T value, int64_t times, std::vector<std::pair<T, int64_t>>* counts) {
  const auto known = std::find_if(counts->begin(), counts->end(), [&](const auto& one) { return one.first == value; });
  if (known != counts->end()) {
    known->second += times;
  } else {
    counts->emplace_back(std::move(value), times);
  }
}

}  // namespace

SteadyPasses SteadyPassesOf(const StageLayout& layout) {
  const int64_t cycle = int64_t{layout.pp} * layout.vpp;
  Kinds kinds;
  if (layout.pp <= 1 || layout.vpp <= 1 || cycle * layout.pp > kMostSteps || !FindKinds(layout, &kinds)) return {};
  if (kinds.chunks.size() == 1) return {};
  std::vector<std::pair<PairSet, int64_t>> sets;  // with how many slots have them
  sets.reserve(static_cast<size_t>(cycle));
  for (const PairSet& slot : PairsBySlot(layout, kinds)) Count(slot, 1, &sets);
  std::vector<std::pair<Pairs, int64_t>> slots;
  slots.reserve(sets.size());
  for (const auto& [set, times] : sets) Count(LongestOf(set, kinds), times, &slots);
  SteadyPasses steady;
  steady.chunks = std::move(kinds.chunks);
  for (const auto& [pairs, count] : slots) {
    steady.pairs.insert(steady.pairs.end(), pairs.begin(), pairs.end());
    steady.slots.push_back(
        {static_cast<uint32_t>(steady.pairs.size()), static_cast<double>(count) / static_cast<double>(cycle)});
  }
  return steady;
}

void KeepSteadyPasses(StageLayout* layout) {
  if (layout->steady == nullptr) layout->steady = std::make_shared<const SteadyPasses>(SteadyPassesOf(*layout));
}

}  // namespace flightplan
