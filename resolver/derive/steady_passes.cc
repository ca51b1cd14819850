#include "resolver/derive/steady_passes.h"

#include <algorithm>
#include <array>
#include <cstddef>
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

// What rank `rank` runs in slot `slot`. The last rank runs its k-th backward in slot k, the one before it one slot
// later, and a forward that is ahead by the passes of its warm-up.
PassPair PairAt(const StageLayout& layout, const Kinds& kinds, int slot, int rank) {
  const int pp = layout.pp, vpp = layout.vpp, below = pp - 1 - rank;
  const int cycle = pp * vpp, backward = (slot - below + cycle) % cycle;
  const int forward = (backward + 2 * below + (vpp - 1) * pp + 1) % cycle;
  const auto kind = [&](int chunk) { return kinds.of[static_cast<size_t>(chunk * pp + rank)]; };
  return {kind(forward / pp), kind(vpp - 1 - backward / pp)};
}

// Of one slot, without pairs that another one covers, in order.
std::vector<PassPair> LongestAt(const StageLayout& layout, const Kinds& kinds, int slot) {
  std::vector<PassPair> pairs;
  const auto covers = [&](const PassPair& a, const PassPair& b) {
    return (kinds.covers[a.forward] >> b.forward & kinds.covers[a.backward] >> b.backward & 1) != 0;
  };
  for (int rank = 0; rank < layout.pp; ++rank) {
    const PassPair own = PairAt(layout, kinds, slot, rank);
    if (std::any_of(pairs.begin(), pairs.end(), [&](const PassPair& other) { return covers(other, own); })) continue;
    std::erase_if(pairs, [&](const PassPair& other) { return covers(own, other); });
    pairs.push_back(own);
  }
  std::sort(pairs.begin(), pairs.end(), [](const PassPair& a, const PassPair& b) {
    return std::pair(a.forward, a.backward) < std::pair(b.forward, b.backward);
  });
  return pairs;
}

}  // namespace

SteadyPasses SteadyPassesOf(const StageLayout& layout) {
  const int64_t cycle = int64_t{layout.pp} * layout.vpp;
  Kinds kinds;
  if (layout.pp <= 1 || layout.vpp <= 1 || cycle * layout.pp > kMostSteps || !FindKinds(layout, &kinds)) return {};
  if (kinds.chunks.size() == 1) return {};
  std::vector<std::pair<std::vector<PassPair>, int64_t>> slots;  // with how many of them there are
  for (int slot = 0; slot < cycle; ++slot) {
    std::vector<PassPair> pairs = LongestAt(layout, kinds, slot);
    const auto known =
        std::find_if(slots.begin(), slots.end(), [&](const auto& other) { return other.first == pairs; });
    if (known != slots.end()) {
      ++known->second;
    } else {
      slots.emplace_back(std::move(pairs), 1);
    }
  }
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
