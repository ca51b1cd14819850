#include <algorithm>

#include "probe/kernels/copies.cuh"
#include "probe/kernels/exchange.cuh"
#include "probe/kernels/shapes.h"

namespace flightplan::probe {
namespace {

constexpr uint64_t kPaceLimitNs = 2'000'000'000;

// Tiles go to the peers in turn. Paced: tile i is not sent before i tiles' time on the link has passed, so the rate is
// that of the whole exchange and not of a block.
__global__ void __launch_bounds__(kCopyThreads) SendKernel(Exchange e, double ns_per_tile) {
  const uint64_t begin = GlobalNs();
  if (threadIdx.x == 0 && e.started != nullptr) atomicAdd(e.started, 1u);
  const int64_t tiles = (e.words + kCopyTile - 1) / kCopyTile * e.peers;
  for (int64_t i = blockIdx.x; i < tiles * e.turns; i += gridDim.x) {
    const int64_t tile = i % tiles;
    if (ns_per_tile > 0) {
      const uint64_t due = min(static_cast<uint64_t>(static_cast<double>(i) * ns_per_tile), kPaceLimitNs);
      if (threadIdx.x == 0) {
        while (GlobalNs() - begin < due) __nanosleep(64);
      }
      __syncthreads();
    }
    const int peer = static_cast<int>(tile % e.peers);
    const int64_t at = tile / e.peers * kCopyTile + threadIdx.x;
    const uint4* from = e.from + peer * e.words;
    uint4* to = e.to[peer];
    uint4 held[kCopyUnroll];
#pragma unroll
    for (int u = 0; u < kCopyUnroll; ++u) {
      if (at + u * kCopyThreads < e.words) held[u] = LoadOnce(from + at + u * kCopyThreads);
    }
#pragma unroll
    for (int u = 0; u < kCopyUnroll; ++u) {
      if (at + u * kCopyThreads < e.words) StoreOnce(to + at + u * kCopyThreads, held[u]);
    }
  }
}

__global__ void TinyKernel(int* counts, int experts) {
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += static_cast<int>(blockDim.x)) counts[e] = e;
}

class OneSided : public WindowExperiment {
 public:
  OneSided(Gpu& gpu, int sms, double rate, int stage) : WindowExperiment(gpu), sms_(sms), rate_(rate) {
    stage_ = stage;
    const int64_t all = shape_.rows() * shape_.token_bytes();
    bytes_ = all / shape_.ranks * (shape_.ranks - 1);
    const double sent = static_cast<double>(bytes_);
    std::map<std::string, double> parameters = {{"sms", sms}, {"bytes", sent}, {"ranks", shape_.ranks}};
    if (rate > 0) parameters["link_bytes_per_second"] = rate;
    SetRow(rate > 0 ? "a2a.paced" : "a2a.logical", "bytes_per_second", sent, parameters, {}, "emulated");
  }

 protected:
  Status Allocate() override {
    TRY(AllocateExchange(gpu_, bytes_, shape_.ranks, &exchange_));
    exchange_.sms = sms_;
    exchange_.link_bytes_per_second = rate_;
    return Ok();
  }
  Status Launch(cudaStream_t stream, int) override { return LaunchExchange(gpu_, stream, exchange_); }
  Status Check() override { return CheckExchange(gpu_, exchange_); }

 private:
  MoeShape shape_ = gpu_.shape;
  int sms_;
  double rate_;
  int64_t bytes_ = 0;
  Exchange exchange_;
};

// What the alltoall dispatcher's host waits for: the counts of a kernel on the host, and the host awake again.
class Counts : public Experiment {
 public:
  explicit Counts(Gpu& gpu) : gpu_(gpu) {
    rows_ = {{"a2a.meta", {{"experts", shape_.experts}, {"ranks", shape_.ranks}}, {}, "us", 0, "measured"}};
  }
  int sample_count() const override { return 25; }
  bool checked() const override { return true; }

  Status Prepare() override {
    gpu_.arena.Reset();
    TRY(gpu_.arena.Get(shape_.experts, &device_));
    TRY(pinned_.Get(static_cast<int64_t>(sizeof(int)) * shape_.experts));
    host_ = reinterpret_cast<int*>(pinned_.bytes());
    std::fill(host_, host_ + shape_.experts, -1);
    std::vector<double> ignored;
    TRY(Take(&ignored));
    for (int e = 0; e < shape_.experts; ++e) {
      if (host_[e] != e) return Fail(Code::kWithheld, "the counts did not arrive");
    }
    return Ok();
  }
  Status Take(std::vector<double>* values) override {
    CUDA_TRY(cudaStreamSynchronize(gpu_.stream));
    const double begin = HostUs();
    TRY(RunKernel({gpu_.stream, 1, 128}, TinyKernel, device_, shape_.experts));
    CUDA_TRY(cudaMemcpyAsync(host_, device_, sizeof(int) * static_cast<size_t>(shape_.experts), cudaMemcpyDeviceToHost,
                             gpu_.stream));
    CUDA_TRY(cudaEventRecord(gpu_.joins[0], gpu_.stream));
    CUDA_TRY(cudaEventSynchronize(gpu_.joins[0]));  // polls, as the dispatcher's host does; a stream's wait sleeps
    values->push_back(HostUs() - begin);
    return Ok();
  }

 private:
  Gpu& gpu_;
  MoeShape shape_ = gpu_.shape;
  int *device_ = nullptr, *host_ = nullptr;
  Pinned pinned_;
};

}  // namespace

Status AllocateExchange(Gpu& gpu, int64_t bytes, int ranks, Exchange* exchange) {
  exchange->peers = std::min(ranks - 1, kMostPeers);
  exchange->words = bytes / 16 / exchange->peers;
  uint4* from = nullptr;
  TRY(gpu.arena.Get(exchange->words * exchange->peers, &from));
  exchange->from = from;
  for (int p = 0; p < exchange->peers; ++p) TRY(gpu.arena.Get(exchange->words, &exchange->to[p]));
  return FillBf16(gpu.stream, reinterpret_cast<Bf16*>(from), exchange->Bytes() / 2, 41, 1);
}

Status LaunchExchange(const Gpu& gpu, cudaStream_t stream, const Exchange& e) {
  const int shared = AloneBytes(gpu);
  CUDA_TRY(cudaFuncSetAttribute(SendKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  const double tile_bytes =
      static_cast<double>(e.Bytes()) / (CeilDiv(e.words, kCopyTile) * static_cast<double>(e.peers));
  const double ns_per_tile = e.link_bytes_per_second > 0 ? 1e9 * tile_bytes / e.link_bytes_per_second : 0;
  return RunKernel({stream, e.sms, kCopyThreads, static_cast<size_t>(shared)}, SendKernel, e, ns_per_tile);
}

Status CheckExchange(Gpu& gpu, const Exchange& e) {
  int* counter = nullptr;
  TRY(gpu.arena.Get(1, &counter));
  for (int p = 0; p < e.peers; ++p) TRY(Poison(gpu.stream, e.to[p], 16 * e.words));
  TRY(LaunchExchange(gpu, gpu.stream, e));
  for (int p = 0; p < e.peers; ++p) {
    int64_t differing = 0;
    TRY(CountDifferent(gpu.stream, e.from + p * e.words, e.to[p], e.words, counter, &differing));
    if (differing > 0)
      return Fail(Code::kWithheld, "the exchange delivered " + std::to_string(differing) + " wrong words");
  }
  return Ok();
}

Experiments ExchangeExperiments(Gpu& gpu) {
  Experiments all;
  all.push_back(std::make_unique<Counts>(gpu));
  for (const int sms : {20, 8, 4, 16, 24, 32, 48, 64}) {
    if (2 * sms > gpu.sm_count) continue;
    const int stage = sms == 20 ? 0 : sms == 8 ? 1 : 2;
    all.push_back(std::make_unique<OneSided>(gpu, sms, 0, stage));
    all.push_back(std::make_unique<OneSided>(gpu, sms, LinkRate(gpu), stage));
  }
  all.push_back(std::make_unique<OneSided>(gpu, 20, 50e9, 2));  // a 400 Gbit/s network card
  if (gpu.team_size > 1) return all;                            // the team's devices are measured themselves
  for (const char* id : {"a2a.p2p.push", "a2a.p2p.pull", "a2a.ce", "a2a.nccl", "a2a.combine", "a2a.alpha", "a2a.skew",
                         "a2a.straggler"}) {
    all.push_back(std::make_unique<Absent>(id, "this worker holds one device; an exchange between peers needs two"));
  }
  return all;
}

}  // namespace flightplan::probe
