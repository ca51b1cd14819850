// One rank's side of an all-to-all between devices of one node, by kernels that write to their peers' memory, read from
// it, or read and add up what all of them have. A rank is done when it has everything, as a layer's next kernel needs
// it.
#pragma once

#include "probe/kernels/exchange.cuh"
#include "probe/limits.h"

namespace flightplan::probe {

inline constexpr int kMostRanks = kMostPeers + 1;
static_assert(kMostRanks == kMostTeam);

// Where ranks meet: on every device, written to by all. All zero at first; kernels leave it ready for the next one.
struct PeerState {
  uint32_t ready[kMostRanks], arrived[kMostRanks];  // by the rank that says so: the last exchange that it has come to
  uint32_t done;                                    // exchanges
  uint32_t begun, ended;                            // blocks of the one that runs
  uint32_t late;                                    // a peer did not come in time
};

struct PeerExchange {
  int rank = 0, peers = 0;
  const uint4* from[kMostPeers] = {};  // `words` each: own chunks to push, or the peers' to pull
  uint4* to[kMostPeers] = {};          // the peers' memory, or the own; of sums the first alone
  PeerState* of_peer[kMostPeers] = {};
  int rank_of[kMostPeers] = {};
  PeerState* own = nullptr;
  int64_t words = 0;            // to one peer, or from one
  int sms = 0;                  // one block on each
  uint32_t* started = nullptr;  // counts the blocks that have come onto the chip; null: nobody asks

  int64_t Bytes() const { return 16 * words * peers; }
};

enum class PeerWay { kPush, kPull, kCombine };
Status LaunchPeerExchange(const Gpu& gpu, cudaStream_t stream, PeerWay way, const PeerExchange& exchange);

// Enqueues a count of the words of `got` that are not the sums, in fp32 and in their order, of those of `pieces`, all
// on this device, into *counter.
struct Pieces {
  const uint4* from[kMostPeers] = {};
  int count = 0;
  int64_t words = 0;
};
Status LaunchCountWrongSums(cudaStream_t stream, const Pieces& pieces, const uint4* got, int* counter);

}  // namespace flightplan::probe
