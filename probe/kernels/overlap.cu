// What computing and exchanging at once costs, and what it gains for a whole layer pair.
#include <cstdlib>
#include <cstring>

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

GemmPath BestPath(const Gpu& gpu) { return gpu.blas != nullptr ? GemmPath::kLibrary : GemmPath::kOwn; }

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
    TRY(One(0, &all_, &all_window_));
    return One(gpu_.sm_count - sms_, &fewer_, &fewer_window_);
  }
  Status Take(std::vector<double>* values) override {
    double all = 0, fewer = 0;
    TRY(all_window_.Replay(gpu_, &all));
    TRY(fewer_window_.Replay(gpu_, &fewer));
    values->push_back(fewer / all);
    return Ok();
  }

 private:
  Status One(int sm_count, Gemms* gemms, TimedGraph* window) {
    int sets = 0;
    TRY(gemms->Open(gpu_, path_, {Filling(gpu_)}, sm_count));
    TRY(gemms->AllocateSets(3, &sets));
    TRY(gemms->Check());
    if (!gpu_.timed()) return Ok();
    TRY(window->Capture(gpu_, [&](cudaStream_t stream) -> Status {
      for (int i = 0; i < 2 * sets; ++i) TRY(gemms->Run(stream, i));
      return Ok();
    }));
    double us = 0;
    return window->Replay(gpu_, &us);
  }

  Gpu& gpu_;
  GemmPath path_;
  int sms_;
  Gemms all_, fewer_;
  TimedGraph all_window_, fewer_window_;
};

enum class Link { kPush, kPaced, kCopyEngine };
enum class Work { kGemm, kWgrad, kElementwise };

class CorunCell : public Experiment {
 public:
  CorunCell(Gpu& gpu, Link link, Work work, int sms, int stage) : gpu_(gpu), link_(link), work_(work), sms_(sms) {
    const char* const links[] = {"push", "paced", "copy_engine"};
    const char* const works[] = {"gemm", "wgrad", "elementwise"};
    std::map<std::string, double> parameters = {{"sms", sms}};
    if (link == Link::kPaced) parameters["link_bytes_per_second"] = LinkRate(gpu);
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
  ~CorunCell() override { cudaFreeHost(host_); }

  Status Prepare() override {
    gpu_.arena.Reset();
    const MoeShape& shape = gpu_.shape;
    TRY(AllocateExchange(gpu_, shape.rows() * shape.token_bytes() / shape.ranks * (shape.ranks - 1), shape.ranks,
                         &exchange_));
    exchange_.sms = sms_;
    exchange_.link_bytes_per_second = link_ == Link::kPaced ? LinkRate(gpu_) : 0;
    if (link_ == Link::kCopyEngine) {
      CUDA_TRY(cudaHostAlloc(&host_, kHostBytes, cudaHostAllocDefault));
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
  static constexpr size_t kHostBytes = 32 << 20;

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
    CUDA_TRY(cudaMemcpyAsync(host_, exchange_.from, kHostBytes, cudaMemcpyDeviceToHost, stream));
    return Ok();
  }

  Gpu& gpu_;
  Link link_;
  Work work_;
  int sms_, sets_ = 1, turn_ = 0;
  Exchange exchange_;
  char* host_ = nullptr;  // the copy engine's other end: the host link stands in for the peer's
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

// Every node alone, and the schedules; all in every sample, so that they share the state of the chip.
class PairSteps : public Experiment {
 public:
  PairSteps(Gpu& gpu, int sms) : gpu_(gpu), sms_(sms) {
    MoeShape shape = gpu.shape;
    shape.tokens = std::min(shape.tokens, kPairTokens);
    const std::map<std::string, double> parameters = {{"tokens", shape.tokens},
                                                      {"hidden", shape.hidden},
                                                      {"topk", shape.topk},
                                                      {"experts", shape.experts},
                                                      {"ffn", shape.ffn},
                                                      {"ranks", shape.ranks},
                                                      {"sms", sms},
                                                      {"link_bytes_per_second", LinkRate(gpu)}};
    for (size_t i = 0; i < fit::kPairNodes; ++i) {
      const auto node = static_cast<fit::PairNode>(i);
      // A node without an exchange is what it is; the others stand on the paced link.
      rows_.push_back({"pair.part",
                       parameters,
                       {{"node", std::string(fit::Name(node))}},
                       "us",
                       0,
                       fit::IsExchange(node) ? "emulated" : "measured"});
    }
    for (const char* id : {"pair.seq", "pair.overlap", "pair.overlap_dw", "pair.early_release"}) {
      rows_.push_back({id, parameters, {}, "us", 0, "emulated"});
    }
    std::map<std::string, double> with_queues = parameters;
    const char* connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    with_queues["connections"] = connections == nullptr ? 8 : std::atof(connections);  // 8 is the driver's default
    rows_.push_back({"corun.queues", with_queues, {}, "us", 0, "emulated"});
  }
  bool checked() const override { return true; }
  int sample_count() const override { return 9; }

  Status Prepare() override {
    TRY(pair_.Allocate(gpu_, sms_));
    // Every node once, on both streams.
    TRY(WarmUp(gpu_, [&](cudaStream_t s) { return pair_.Overlapped(s, gpu_.side, {true, true, false}); }));
    std::vector<double> ignored;
    return gpu_.timed() ? Take(&ignored) : Ok();
  }
  Status Take(std::vector<double>* values) override {
    for (size_t i = 0; i < fit::kPairNodes; ++i) {
      TRY(Time([&](cudaStream_t s) { return pair_.Node(static_cast<fit::PairNode>(i), s, /*with_wgrad=*/false); },
               values));
    }
    TRY(Time([&](cudaStream_t s) { return pair_.Sequential(s); }, values));
    for (const fit::PairSchedule& schedule :
         {fit::PairSchedule{true, false, false}, fit::PairSchedule{true, true, false},
          fit::PairSchedule{true, true, true}}) {
      TRY(Time([&](cudaStream_t s) { return pair_.Overlapped(s, gpu_.side, schedule); }, values));
    }
    values->push_back((*values)[values->size() - 3]);  // pair.overlap, under the number of queues in force
    return Ok();
  }

 private:
  Status Time(const Enqueue& work, std::vector<double>* values) {
    double us = 0;
    TRY(TimeHeld(gpu_, work, &us));
    values->push_back(us);
    return Ok();
  }

  Gpu& gpu_;
  int sms_;
  LayerPair pair_;
};

// The experts' weight gradients apart from the input gradients, over both together. Both alternate.
class WgradSplit : public Experiment {
 public:
  explicit WgradSplit(Gpu& gpu) : gpu_(gpu) {
    const MoeShape& s = gpu.shape;
    rows_ = {{"wgrad.split",
              {{"tokens", std::min(s.tokens, kPairTokens)},
               {"hidden", s.hidden},
               {"topk", s.topk},
               {"experts", s.local_experts()},
               {"ffn", s.ffn}},
              {},
              "ratio",
              0,
              "measured"}};
    stage_ = 1;
  }
  bool checked() const override { return true; }

  Status Prepare() override {
    TRY(pair_.Allocate(gpu_, 4));
    for (const bool apart : {false, true}) {
      double us = 0;
      TimedGraph& window = windows_[apart ? 1 : 0];
      const Enqueue backward = [&](cudaStream_t stream) { return pair_.ExpertsBackward(stream, apart); };
      TRY(WarmUp(gpu_, backward));
      TRY(window.Capture(gpu_, backward));
      TRY(window.Replay(gpu_, &us));
    }
    return Ok();
  }
  Status Take(std::vector<double>* values) override {
    double joined = 0, apart = 0;
    TRY(windows_[0].Replay(gpu_, &joined));
    TRY(windows_[1].Replay(gpu_, &apart));
    values->push_back(apart / joined);
    return Ok();
  }

 private:
  Gpu& gpu_;
  LayerPair pair_;
  TimedGraph windows_[2];
};

}  // namespace

Experiments OverlapExperiments(Gpu& gpu) {
  Experiments all;
  if (2 * 20 <= gpu.sm_count) all.push_back(std::make_unique<PairSteps>(gpu, 20));
  for (const int sms : {20, 8, 32, 4, 16, 24, 48, 64}) {
    if (2 * sms > gpu.sm_count || (gpu.check_only && sms != 20)) continue;
    all.push_back(std::make_unique<SmBudget>(gpu, BestPath(gpu), sms, sms == 20 ? 0 : 2));
    if (sms != 20 && sms != 8 && sms != 32) continue;
    for (const Link link : {Link::kPaced, Link::kPush}) {
      for (const Work work : {Work::kGemm, Work::kWgrad, Work::kElementwise}) {
        const int stage = sms == 20 ? (work == Work::kGemm ? 0 : 1) : 2;
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
  all.push_back(std::make_unique<WgradSplit>(gpu));
  return all;
}

}  // namespace flightplan::probe
