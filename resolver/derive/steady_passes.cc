#include "resolver/derive/steady_passes.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <iterator>
#include <utility>

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

bool SameWork(const RankContents& a, const RankContents& b) { return Covers(a, b) && Covers(b, a); }

// The distinct chunks, and which of them each chunk is.
struct Kinds {
  std::vector<RankContents> chunks;
  std::vector<uint8_t> of;
  std::array<uint16_t, kMostKinds> covers{};  // bit b of entry a: a covers b; asked for each rank of each slot
};

bool FindKinds(const StageLayout& layout, Kinds* kinds) {
  for (const ChunkContents& chunk : layout.chunks) {
    const RankContents own = ContentsOf(chunk);
    const auto known = std::find_if(kinds->chunks.begin(), kinds->chunks.end(),
                                    [&](const RankContents& other) { return SameWork(own, other); });
    kinds->of.push_back(static_cast<uint8_t>(known - kinds->chunks.begin()));
    if (known != kinds->chunks.end()) continue;
    if (kinds->chunks.size() == kMostKinds) return false;
    kinds->chunks.push_back(own);
  }
  for (size_t a = 0; a < kinds->chunks.size(); ++a) {
    for (size_t b = 0; b < kinds->chunks.size(); ++b) {
      if (Covers(kinds->chunks[a], kinds->chunks[b])) kinds->covers[a] |= static_cast<uint16_t>(1u << b);
    }
  }
  return true;
}

// Pairs of kinds that run at one time: bit forward x kMostKinds + backward.
using PairSet = std::bitset<kMostKinds * kMostKinds>;

// What all ranks run in each slot of a cycle. The last rank runs its k-th backward in slot k, the one before it one
// slot later, and a forward that is ahead by the passes of its warm-up.
std::vector<PairSet> PairsBySlot(const StageLayout& layout, const Kinds& kinds) {
  const int pp = layout.pp, vpp = layout.vpp, cycle = pp * vpp;
  std::vector<PairSet> slots(static_cast<size_t>(cycle));
  std::vector<size_t> forwards(slots.size()), backwards(slots.size());  // kinds of one rank's passes, in their order
  for (int rank = 0; rank < pp; ++rank) {
    for (int chunk = 0, pass = 0; chunk < vpp; ++chunk) {
      const size_t forward = kinds.of[static_cast<size_t>(chunk * pp + rank)];
      const size_t backward = kinds.of[static_cast<size_t>((vpp - 1 - chunk) * pp + rank)];
      for (int i = 0; i < pp; ++i, ++pass) {
        forwards[static_cast<size_t>(pass)] = forward;
        backwards[static_cast<size_t>(pass)] = backward;
      }
    }
    const int below = pp - 1 - rank;
    auto backward = static_cast<size_t>((cycle - below) % cycle);
    auto forward = static_cast<size_t>((cycle - below + 2 * below + (vpp - 1) * pp + 1) % cycle);
    for (PairSet& slot : slots) {
      slot.set(forwards[forward] * kMostKinds + backwards[backward]);
      if (++forward == slots.size()) forward = 0;
      if (++backward == slots.size()) backward = 0;
    }
  }
  return slots;
}

// Without pairs that another one covers, in order.
std::vector<PassPair> LongestOf(const PairSet& set, const Kinds& kinds) {
  std::vector<PassPair> pairs;
  for (size_t forward = 0; forward < kinds.chunks.size(); ++forward) {
    for (size_t backward = 0; backward < kinds.chunks.size(); ++backward) {
      if (!set[forward * kMostKinds + backward]) continue;
      pairs.push_back({static_cast<uint8_t>(forward), static_cast<uint8_t>(backward)});
    }
  }
  const auto covers = [&](const PassPair& a, const PassPair& b) {
    return (kinds.covers[a.forward] >> b.forward & kinds.covers[a.backward] >> b.backward & 1) != 0;
  };
  std::vector<PassPair> longest;
  std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(longest), [&](const PassPair& own) {
    return std::none_of(pairs.begin(), pairs.end(),
                        [&](const PassPair& other) { return !(other == own) && covers(other, own); });
  });
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
  for (const PairSet& slot : PairsBySlot(layout, kinds)) Count(slot, 1, &sets);
  std::vector<std::pair<std::vector<PassPair>, int64_t>> slots;
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

}  // namespace flightplan
