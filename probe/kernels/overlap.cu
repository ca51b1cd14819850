// What computing and exchanging at once costs either; what it gains for a whole layer pair is in pair_steps.cu.
#include <algorithm>

#include "probe/kernels/copies.cuh"
#include "probe/kernels/corun_compute.cuh"
#include "probe/kernels/exchange.cuh"
#include "probe/kernels/pair.cuh"

namespace flightplan::probe {
namespace {

// A GEMM that leaves some SMs to others, over the same with all of them. Both alternate.
class SmBudget : public Experiment {
 public:
  SmBudget(Gpu& gpu, GemmPath path, int sms, int stage) : gpu_(gpu), path_(path), sms_(sms) {
    rows_ = {{"gemm.sm_budget", {{"sms", sms}}, {{"path", Name(path)}}, "ratio", 0, "measured"}};
    stage_ = stage;
  }
  bool checked() const override { return true; }
  int sample_count() const override { return 9; }

  Status Prepare() override {
    gpu_.arena.Reset();
    TRY(all_.Prepare(gpu_, path_, {Filling(gpu_)}, kTurns));
    return fewer_.Prepare(gpu_, path_, {Filling(gpu_)}, kTurns, gpu_.sm_count - sms_);
  }
  Status Take(std::vector<double>* values) override {
    double all = 0, fewer = 0;
    TRY(all_.Replay(gpu_, &all));
    TRY(fewer_.Replay(gpu_, &fewer));
    values->push_back(fewer / all);
    return Ok();
  }

 private:
  static constexpr int kTurns = 2;

  Gpu& gpu_;
  GemmPath path_;
  int sms_;
  GemmWindow all_, fewer_;
};

enum class Link { kPush, kNvlink, kNetwork, kCopyEngine };

class CorunCell : public Experiment {
 public:
  CorunCell(Gpu& gpu, Link link, Work work, int sms, int stage) : gpu_(gpu), link_(link), sms_(sms), compute_(work) {
    const char* const links[] = {"push", "paced", "paced", "copy_engine"};
    std::map<std::string, double> parameters = {{"sms", sms}};
    if (Pace() > 0) parameters["link_bytes_per_second"] = Pace();
    rows_ = CorunRows(parameters, links[static_cast<size_t>(link)], work, "emulated");
    stage_ = stage;
  }

  Status Prepare() override {
    gpu_.arena.Reset();
    const MoeShape& shape = gpu_.shape;
    // A slow link takes as long as a fast one with a part of the bytes.
    const int64_t part = link_ == Link::kNetwork ? 8 : 1;
    TRY(AllocateExchange(gpu_, shape.rows() * shape.token_bytes() / shape.ranks * (shape.ranks - 1) / part, shape.ranks,
                         &exchange_));
    exchange_.sms = sms_;
    exchange_.link_bytes_per_second = Pace();
    exchange_.turns = kTurns;
    if (link_ == Link::kCopyEngine) {
      copied_ = std::min(kMostHostBytes, exchange_.Bytes());
      TRY(host_.Get(copied_));
    } else {
      TRY(CheckExchange(gpu_, exchange_));
    }
    TRY(compute_.Allocate(gpu_));
    const bool counts = link_ != Link::kCopyEngine;
    if (counts) {
      TRY(gpu_.arena.Get(1, &exchange_.started));
      CUDA_TRY(cudaMemsetAsync(exchange_.started, 0, sizeof(uint32_t), gpu_.stream));
    }
    return corun_.Prepare(
        gpu_, [this](cudaStream_t s) { return compute_.Launch(s); }, [this](cudaStream_t s) { return Communicate(s); },
        exchange_.started, static_cast<uint32_t>(sms_));
  }

  Status Take(std::vector<double>* values) override {
    Together t;
    TRY(corun_.Take(gpu_, &t));
    if (!t.Met()) return Fail(Code::kUnsupported, "compute began when the exchange was over, or nearly so");
    values->insert(values->end(), {t.ComputeSlowdown(), t.OtherSlowdown(), std::max(0.0, t.lead)});
    return Ok();
  }

 private:
  static constexpr int64_t kMostHostBytes = 32 << 20;
  static constexpr int kTurns = 4;  // so that the exchange outlasts many GEMMs

  // Bytes a second; 0: as fast as it goes.
  double Pace() const { return link_ == Link::kNvlink ? LinkRate(gpu_) : link_ == Link::kNetwork ? kNetworkRate : 0; }

  Status Communicate(cudaStream_t stream) {
    if (link_ != Link::kCopyEngine) return LaunchExchange(gpu_, stream, exchange_);
    CUDA_TRY(
        cudaMemcpyAsync(host_.bytes(), exchange_.from, static_cast<size_t>(copied_), cudaMemcpyDeviceToHost, stream));
    return Ok();
  }

  Gpu& gpu_;
  Link link_;
  int sms_;
  int64_t copied_ = 0;  // by the copy engine
  Exchange exchange_;
  Pinned host_;  // the copy engine's other end: the host link stands in for the peer's
  CorunCompute compute_;
  Corun corun_;
};

// Spins until `ns` after its start, then says when it ended.
__global__ void WaitKernel(uint64_t ns, unsigned long long* ended) {
  const uint64_t begin = GlobalNs();
  while (GlobalNs() - begin < ns) __nanosleep(100);
  *ended = GlobalNs();
}

// Says when the first and the last of its blocks came onto the chip.
__global__ void BlocksKernel(unsigned long long* first, unsigned long long* last) {
  if (threadIdx.x != 0) return;
  const unsigned long long now = static_cast<unsigned long long>(GlobalNs());
  atomicMin(first, now);
  atomicMax(last, now);
}

// From the moment an exchange is at the head of its queue until its first block runs, and its last, while compute fills
// the chip. What an exchange waits is no part of what it and compute cost each other (corun.matrix).
class StartDelay : public Experiment {
 public:
  StartDelay(Gpu& gpu, Work work, bool high, bool cooperative, int stage)
      : gpu_(gpu), high_(high), cooperative_(cooperative), compute_(work) {
    for (const char* id : {"corun.start", "corun.full"}) {
      rows_.push_back({id,
                       {{"sms", kSms}},
                       {{"priority", high ? "high" : "normal"},
                        {"launch", cooperative ? "cooperative" : "plain"},
                        {"compute", Name(work)}},
                       "us",
                       0,
                       "measured"});
    }
    stage_ = stage;
  }
  int sample_count() const override { return 25; }

  Status Prepare() override {
    gpu_.arena.Reset();
    int cooperative = 0;
    CUDA_TRY(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, gpu_.index));
    if (cooperative_ && cooperative == 0) return Fail(Code::kUnsupported, "the device has no cooperative launch");
    TRY(gpu_.arena.Get(3, &times_));
    TRY(compute_.Allocate(gpu_));
    CUDA_TRY(cudaFuncSetAttribute(BlocksKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, AloneBytes(gpu_)));
    const Enqueue compute = [this](cudaStream_t s) { return compute_.Launch(s); };
    TRY(WarmUp(gpu_, compute));
    TRY(WarmUp(gpu_, [this](cudaStream_t s) { return Exchange(s, 1); }));
    return TimeHeld(gpu_, compute, &compute_us_);
  }

  Status Take(std::vector<double>* values) override {
    cudaStream_t on = high_ ? gpu_.urgent : gpu_.side;
    const unsigned long long unset[3] = {0, ~0ull, 0};
    TRY(Upload(gpu_.stream, unset, sizeof unset, times_));
    TRY(gpu_.Hold(gpu_.stream));
    const Status queued = Queue(on);
    gpu_.Release();
    TRY(queued);
    CUDA_TRY(cudaStreamSynchronize(on));
    CUDA_TRY(cudaStreamSynchronize(gpu_.stream));
    unsigned long long times[3];
    TRY(Download(gpu_.stream, times_, sizeof times, times));
    if (times[1] < times[0]) return Fail(Code::kWithheld, "the exchange began before its wait ended");
    for (const unsigned long long came : {times[1], times[2]}) {
      values->push_back(static_cast<double>(came - times[0]) / 1e3);
    }
    return Ok();
  }

 private:
  static constexpr int kSms = 20, kTurns = 6;

  // The wait ends in the midst of the third turn of compute; there are more behind it.
  Status Queue(cudaStream_t on) {
    CUDA_TRY(cudaEventRecord(gpu_.joins[0], gpu_.stream));
    CUDA_TRY(cudaStreamWaitEvent(on, gpu_.joins[0]));
    TRY(Exchange(on, 2.5e3 * compute_us_));
    for (int i = 0; i < kTurns; ++i) TRY(compute_.Launch(gpu_.stream));
    return Ok();
  }

  Status Exchange(cudaStream_t on, double after_ns) {
    TRY(RunKernel({on, 1, 1}, WaitKernel, static_cast<uint64_t>(std::min(after_ns, 2e9)), times_));
    const size_t shared = static_cast<size_t>(AloneBytes(gpu_));
    return RunKernel({on, kSms, 1024, shared, cooperative_}, BlocksKernel, times_ + 1, times_ + 2);
  }

  Gpu& gpu_;
  bool high_, cooperative_;
  double compute_us_ = 0;
  unsigned long long* times_ = nullptr;  // end of the wait, first block, last block
  CorunCompute compute_;
};

}  // namespace

Experiments OverlapExperiments(Gpu& gpu) {
  Experiments all;
  if (2 * 20 <= gpu.sm_count) all.push_back(MakePairSteps(gpu, 20));
  for (const int sms : {20, 8, 32, 4, 16, 24, 48, 64}) {
    if (2 * sms > gpu.sm_count || (gpu.check_only && sms != 20)) continue;
    all.push_back(std::make_unique<SmBudget>(gpu, BestPath(gpu), sms, sms == 20 ? 0 : 2));
    if (sms != 20 && sms != 8 && sms != 32) continue;
    for (const Link link : {Link::kNvlink, Link::kNetwork, Link::kPush}) {
      if (link == Link::kPush && gpu.team_size > 1) continue;  // to real peers it is another figure (team_rows.cu)
      for (const Work work : kWorks) {
        const int stage = sms != 20 ? 2 : work != Work::kGemm ? 1 : 0;
        all.push_back(std::make_unique<CorunCell>(gpu, link, work, sms, stage));
      }
    }
  }
  for (const Work work : kWorks) {
    if (gpu.team_size > 1) continue;
    all.push_back(std::make_unique<CorunCell>(gpu, Link::kCopyEngine, work, 0, 1));
  }
  for (const bool high : {false, true}) {
    for (const Work work : kWorks) {
      all.push_back(std::make_unique<StartDelay>(gpu, work, high, /*cooperative=*/false, work == Work::kGemm ? 1 : 2));
    }
    all.push_back(std::make_unique<StartDelay>(gpu, Work::kGemm, high, /*cooperative=*/true, 1));
  }
  all.push_back(MakeWgradSplit(gpu));
  return all;
}

}  // namespace flightplan::probe
