// What computing and exchanging at once costs either; what it gains for a whole layer pair is in pair_steps.cu.
#include <algorithm>

#include "probe/kernels/copies.cuh"
#include "probe/kernels/corun.cuh"
#include "probe/kernels/elementwise.cuh"
#include "probe/kernels/pair.cuh"

namespace flightplan::probe {
namespace {

// Many waves of tiles on any chip.
GemmShape Filling(const Gpu& gpu) {
  return gpu.check_only ? GemmShape{.m = 264, .n = 264, .k = 72} : GemmShape{.m = 8192, .n = 4096, .k = 2048};
}

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
enum class Work { kGemm, kWgrad, kElementwise };

class CorunCell : public Experiment {
 public:
  CorunCell(Gpu& gpu, Link link, Work work, int sms, int stage) : gpu_(gpu), link_(link), work_(work), sms_(sms) {
    const char* const links[] = {"push", "paced", "paced", "copy_engine"};
    const char* const works[] = {"gemm", "wgrad", "elementwise"};
    std::map<std::string, double> parameters = {{"sms", sms}};
    if (Pace() > 0) parameters["link_bytes_per_second"] = Pace();
    for (const char* side : {"compute", "communication"}) {
      rows_.push_back({"corun.matrix",
                       parameters,
                       {{"communication", links[static_cast<size_t>(link)]},
                        {"compute", works[static_cast<size_t>(work)]},
                        {"side", side}},
                       "ratio",
                       0,
                       "emulated"});
    }
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
    if (link_ == Link::kCopyEngine) {
      copied_ = std::min(kMostHostBytes, exchange_.Bytes());
      TRY(host_.Get(copied_));
    } else {
      TRY(CheckExchange(gpu_, exchange_));
    }
    TRY(PrepareCompute(shape));
    return corun_.Prepare(
        gpu_, [this](cudaStream_t s) { return Compute(s); }, [this](cudaStream_t s) { return Communicate(s); },
        link_ == Link::kCopyEngine ? 1 : 4);
  }

  Status Take(std::vector<double>* values) override {
    Together t;
    TRY(corun_.Take(gpu_, &t));
    values->push_back(t.ComputeSlowdown());
    values->push_back(t.OtherSlowdown());
    return Ok();
  }

 private:
  static constexpr int64_t kMostHostBytes = 32 << 20;

  // Bytes a second; 0: as fast as it goes.
  double Pace() const { return link_ == Link::kNvlink ? LinkRate(gpu_) : link_ == Link::kNetwork ? kNetworkRate : 0; }

  Status PrepareCompute(const MoeShape& shape) {
    if (work_ == Work::kElementwise) {
      TRY(gpu_.arena.Get(2 * shape.rows() * shape.ffn, &in_));
      TRY(gpu_.arena.Get(shape.rows() * shape.ffn, &out_));
      TRY(gpu_.arena.Get(shape.rows(), &probs_));
      TRY(FillBf16(gpu_.stream, in_, 2 * shape.rows() * shape.ffn, 81, 1));
      return FillFloat(gpu_.stream, probs_, shape.rows(), 82, 1);
    }
    GemmShape gemm = Filling(gpu_);
    if (work_ == Work::kWgrad) {
      gemm = {.m = gpu_.check_only ? 136 : 1536,
              .n = gpu_.check_only ? 264 : 2048,
              .k = gpu_.check_only ? 100 : 16384,
              .a_by_k = true,
              .b_by_k = true,
              .accumulate_fp32 = true};
    }
    TRY(gemms_.Open(gpu_, BestPath(gpu_), {gemm}));
    TRY(gemms_.AllocateSets(3, &sets_));
    return gemms_.Check();
  }
  Status Compute(cudaStream_t stream) {
    const MoeShape& shape = gpu_.shape;
    if (work_ == Work::kElementwise) return LaunchSwiglu(stream, in_, probs_, shape.rows(), shape.ffn, out_);
    return gemms_.Run(stream, turn_++ % sets_);
  }
  Status Communicate(cudaStream_t stream) {
    if (link_ != Link::kCopyEngine) return LaunchExchange(gpu_, stream, exchange_);
    CUDA_TRY(
        cudaMemcpyAsync(host_.bytes(), exchange_.from, static_cast<size_t>(copied_), cudaMemcpyDeviceToHost, stream));
    return Ok();
  }

  Gpu& gpu_;
  Link link_;
  Work work_;
  int sms_, sets_ = 1, turn_ = 0;
  int64_t copied_ = 0;  // by the copy engine
  Exchange exchange_;
  Pinned host_;  // the copy engine's other end: the host link stands in for the peer's
  Bf16 *in_ = nullptr, *out_ = nullptr;
  float* probs_ = nullptr;
  Gemms gemms_;
  Corun corun_;
};

// Spins until `ns` after its start, then says when it ended.
__global__ void WaitKernel(uint64_t ns, unsigned long long* ended) {
  const uint64_t begin = GlobalNs();
  while (GlobalNs() - begin < ns) __nanosleep(100);
  *ended = GlobalNs();
}

// Says when the first of its blocks came onto the chip.
__global__ void FirstBlockKernel(unsigned long long* first) {
  if (threadIdx.x == 0) atomicMin(first, static_cast<unsigned long long>(GlobalNs()));
}

// From the moment an exchange is at the head of its queue until its first block runs, while a GEMM fills the chip.
class StartDelay : public Experiment {
 public:
  StartDelay(Gpu& gpu, bool high, bool cooperative) : gpu_(gpu), high_(high), cooperative_(cooperative) {
    rows_ = {{"corun.start",
              {{"sms", kSms}},
              {{"priority", high ? "high" : "normal"}, {"launch", cooperative ? "cooperative" : "plain"}},
              "us",
              0,
              "measured"}};
    stage_ = 1;
  }
  int sample_count() const override { return 25; }

  Status Prepare() override {
    gpu_.arena.Reset();
    int cooperative = 0;
    CUDA_TRY(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, gpu_.index));
    if (cooperative_ && cooperative == 0) return Fail(Code::kUnsupported, "the device has no cooperative launch");
    TRY(gpu_.arena.Get(2, &times_));
    TRY(gemms_.Open(gpu_, BestPath(gpu_), {Filling(gpu_)}));
    TRY(gemms_.AllocateSets(3, &sets_));
    CUDA_TRY(cudaFuncSetAttribute(FirstBlockKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, AloneBytes(gpu_)));
    const Enqueue gemm = [this](cudaStream_t s) { return gemms_.Run(s, 0); };
    TRY(WarmUp(gpu_, gemm));
    TRY(WarmUp(gpu_, [this](cudaStream_t s) { return Exchange(s, 1); }));
    return TimeHeld(gpu_, gemm, &gemm_us_);
  }

  Status Take(std::vector<double>* values) override {
    cudaStream_t on = high_ ? gpu_.urgent : gpu_.side;
    const unsigned long long unset[2] = {0, ~0ull};
    TRY(Upload(gpu_.stream, unset, sizeof unset, times_));
    TRY(gpu_.Hold(gpu_.stream));
    const Status queued = Queue(on);
    gpu_.Release();
    TRY(queued);
    CUDA_TRY(cudaStreamSynchronize(on));
    CUDA_TRY(cudaStreamSynchronize(gpu_.stream));
    unsigned long long times[2];
    TRY(Download(gpu_.stream, times_, sizeof times, times));
    if (times[1] < times[0]) return Fail(Code::kWithheld, "the exchange began before its wait ended");
    values->push_back(static_cast<double>(times[1] - times[0]) / 1e3);
    return Ok();
  }

 private:
  static constexpr int kSms = 20, kGemms = 6;

  // The wait ends in the midst of the third GEMM; there are more behind it.
  Status Queue(cudaStream_t on) {
    CUDA_TRY(cudaEventRecord(gpu_.joins[0], gpu_.stream));
    CUDA_TRY(cudaStreamWaitEvent(on, gpu_.joins[0]));
    TRY(Exchange(on, 2.5e3 * gemm_us_));
    for (int i = 0; i < kGemms; ++i) TRY(gemms_.Run(gpu_.stream, i % sets_));
    return Ok();
  }

  Status Exchange(cudaStream_t on, double after_ns) {
    TRY(RunKernel({on, 1, 1}, WaitKernel, static_cast<uint64_t>(std::min(after_ns, 2e9)), times_));
    const size_t shared = static_cast<size_t>(AloneBytes(gpu_));
    return RunKernel({on, kSms, 1024, shared, cooperative_}, FirstBlockKernel, times_ + 1);
  }

  Gpu& gpu_;
  bool high_, cooperative_;
  int sets_ = 1;
  double gemm_us_ = 0;
  unsigned long long* times_ = nullptr;  // end of the wait, first block
  Gemms gemms_;
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
      for (const Work work : {Work::kGemm, Work::kWgrad, Work::kElementwise}) {
        const int stage = sms != 20 ? 2 : work != Work::kGemm ? 1 : 0;
        all.push_back(std::make_unique<CorunCell>(gpu, link, work, sms, stage));
      }
    }
  }
  for (const Work work : {Work::kGemm, Work::kWgrad, Work::kElementwise}) {
    all.push_back(std::make_unique<CorunCell>(gpu, Link::kCopyEngine, work, 0, 1));
  }
  for (const bool high : {false, true}) {
    for (const bool cooperative : {false, true}) all.push_back(std::make_unique<StartDelay>(gpu, high, cooperative));
  }
  all.push_back(MakeWgradSplit(gpu));
  return all;
}

}  // namespace flightplan::probe
