#include "probe/kernels/copies.cuh"
#include "probe/kernels/peers.cuh"

namespace flightplan::probe {
namespace {

constexpr int kSummed = 4;                        // peers' words that are on their way at once, for one sum
constexpr uint64_t kPeerLimitNs = 2'000'000'000;  // a peer that died must not leave spinning kernels behind

// By one thread.
__device__ void WaitForAll(const PeerExchange& e, const uint32_t* flags, uint32_t value) {
  const uint64_t begin = GlobalNs();
  for (int p = 0; p < e.peers; ++p) {
    while (!HasCome(flags + e.rank_of[p], value)) {
      if (GlobalNs() - begin < kPeerLimitNs) continue;
      e.own->late = 1;
      return;
    }
  }
}

// The end of a rank's side: what the block has done is sent on; the last block tells the peers and waits for them.
__device__ void End(const PeerExchange& e, uint32_t turn) {
  FenceSystem();
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (atomicAdd(&e.own->ended, 1u) + 1 < gridDim.x) return;
  FenceSystem();  // for what the other blocks have sent on
  e.own->begun = e.own->ended = 0;
  e.own->done = turn;
  for (int p = 0; p < e.peers; ++p) Signal(&e.of_peer[p]->arrived[e.rank], turn);
  WaitForAll(e, e.own->arrived, turn);
}

// The number of this exchange; for the block's first thread. Whether the block is the first to start is left in *first.
__device__ uint32_t Begin(const PeerExchange& e, bool* first) {
  const uint32_t turn = *const_cast<const volatile uint32_t*>(&e.own->done) + 1;
  *first = atomicAdd(&e.own->begun, 1u) == 0;
  if (e.started != nullptr) atomicAdd(e.started, 1u);
  return turn;
}

// Tiles go to the peers in turn, so that no link stands idle while another is full.
template <bool kPull>
__device__ void Move(const PeerExchange& e) {
  const int64_t tiles = (e.words + kCopyTile - 1) / kCopyTile * e.peers;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int peer = static_cast<int>(tile % e.peers);
    const int64_t at = tile / e.peers * kCopyTile + threadIdx.x;
    const uint4* from = e.from[peer];
    uint4* to = e.to[peer];
    uint4 held[kCopyUnroll];
#pragma unroll
    for (int i = 0; i < kCopyUnroll; ++i) {
      if (at + i * kCopyThreads >= e.words) continue;
      held[i] = kPull ? LoadPeer(from + at + i * kCopyThreads) : LoadOnce(from + at + i * kCopyThreads);
    }
#pragma unroll
    for (int i = 0; i < kCopyUnroll; ++i) {
      if (at + i * kCopyThreads >= e.words) continue;
      if (kPull) StoreOnce(to + at + i * kCopyThreads, held[i]);
      if (!kPull) StorePeer(to + at + i * kCopyThreads, held[i]);
    }
  }
}

// Eight bf16 numbers of every peer, in the order of `from`, added up in fp32 and written once.
__device__ void Add(const PeerExchange& e) {
  const int64_t tiles = (e.words + kCopyTile - 1) / kCopyTile;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
#pragma unroll 2
    for (int i = 0; i < kCopyUnroll; ++i) {
      const int64_t at = tile * kCopyTile + i * kCopyThreads + threadIdx.x;
      if (at >= e.words) continue;
      float sum[8] = {};
      for (int first = 0; first < e.peers; first += kSummed) {
        uint4 held[kSummed];
#pragma unroll
        for (int p = 0; p < kSummed; ++p) {
          if (first + p < e.peers) held[p] = LoadPeer(e.from[first + p] + at);
        }
#pragma unroll
        for (int p = 0; p < kSummed; ++p) {
          if (first + p >= e.peers) continue;
          float x[8];
          Unpack(held[p], x);
#pragma unroll
          for (int j = 0; j < 8; ++j) sum[j] += x[j];
        }
      }
      StoreOnce(e.to[0] + at, Pack(sum));
    }
  }
}

__global__ void __launch_bounds__(kCopyThreads) PushKernel(PeerExchange e) {
  uint32_t turn = 0;
  bool first = false;
  if (threadIdx.x == 0) turn = Begin(e, &first);
  Move<false>(e);
  End(e, turn);
}

// A peer's chunk may be read once the peer has come to this exchange, and it may go on once all have read.
__device__ uint32_t BeginToRead(const PeerExchange& e) {
  uint32_t turn = 0;
  if (threadIdx.x == 0) {
    bool first = false;
    turn = Begin(e, &first);
    for (int p = 0; first && p < e.peers; ++p) Signal(&e.of_peer[p]->ready[e.rank], turn);
    WaitForAll(e, e.own->ready, turn);
  }
  __syncthreads();
  return turn;
}

__global__ void __launch_bounds__(kCopyThreads) PullKernel(PeerExchange e) {
  const uint32_t turn = BeginToRead(e);
  Move<true>(e);
  End(e, turn);
}

__global__ void __launch_bounds__(kCopyThreads) CombineKernel(PeerExchange e) {
  const uint32_t turn = BeginToRead(e);
  Add(e);
  End(e, turn);
}

__global__ void CountWrongSumsKernel(Pieces pieces, const uint4* got, int* counter) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= pieces.words) return;
  float want[8] = {};
  for (int p = 0; p < pieces.count; ++p) {
    float x[8];
    Unpack(pieces.from[p][at], x);
    for (int j = 0; j < 8; ++j) want[j] += x[j];
  }
  const uint4 sum = Pack(want), seen = got[at];
  if (sum.x != seen.x || sum.y != seen.y || sum.z != seen.z || sum.w != seen.w) atomicAdd(counter, 1);
}

}  // namespace

Status LaunchPeerExchange(const Gpu& gpu, cudaStream_t stream, PeerWay way, const PeerExchange& e) {
  const auto kernel = way == PeerWay::kPush ? PushKernel : way == PeerWay::kPull ? PullKernel : CombineKernel;
  const int shared = AloneBytes(gpu);
  CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  return RunKernel({stream, e.sms, kCopyThreads, static_cast<size_t>(shared)}, kernel, e);
}

Status LaunchCountWrongSums(cudaStream_t stream, const Pieces& pieces, const uint4* got, int* counter) {
  CUDA_TRY(cudaMemsetAsync(counter, 0, sizeof *counter, stream));
  return RunKernel({stream, CeilDiv(pieces.words, 256), 256}, CountWrongSumsKernel, pieces, got, counter);
}

}  // namespace flightplan::probe
