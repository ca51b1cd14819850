// Activation offload over the host link, and what recomputing costs instead.
#include <algorithm>
#include <cstring>

#include "probe/kernels/copies.cuh"
#include "probe/kernels/corun.cuh"
#include "probe/kernels/elementwise.cuh"
#include "probe/kernels/gemm.cuh"

namespace flightplan::probe {
namespace {

constexpr int64_t kMiB = 1 << 20;
enum class Way { kDown, kUp, kBoth };

Status CopyWay(Way way, char* host, char* device, int64_t bytes, cudaStream_t stream) {
  const size_t n = static_cast<size_t>(bytes);
  if (way == Way::kDown) CUDA_TRY(cudaMemcpyAsync(host, device, n, cudaMemcpyDeviceToHost, stream));
  if (way == Way::kUp) CUDA_TRY(cudaMemcpyAsync(device, host, n, cudaMemcpyHostToDevice, stream));
  return Ok();
}

class Offload : public WindowExperiment {
 public:
  Offload(Gpu& gpu, Way way, int64_t bytes, int stage) : WindowExperiment(gpu), way_(way), bytes_(bytes) {
    stage_ = stage;
    const char* const ids[] = {"offload.d2h", "offload.h2d", "offload.bidir"};
    SetRow(ids[static_cast<size_t>(way)], "bytes_per_second", static_cast<double>((way == Way::kBoth ? 2 : 1) * bytes),
           {{"bytes", static_cast<double>(bytes)}});
  }

 protected:
  Status Allocate() override {
    const int64_t both = way_ == Way::kBoth ? 2 : 1;
    TRY(pinned_.Get(both * bytes_));
    TRY(gpu_.arena.Get(both * bytes_, &device_));
    return FillBf16(gpu_.stream, reinterpret_cast<Bf16*>(device_), both * bytes_ / 2, 61, 1);
  }
  Status Launch(cudaStream_t stream, int) override {
    if (way_ != Way::kBoth) return CopyWay(way_, pinned_.bytes(), device_, bytes_, stream);
    cudaStream_t branch = gpu_.branches[0];
    CUDA_TRY(cudaEventRecord(gpu_.fork, stream));
    CUDA_TRY(cudaStreamWaitEvent(branch, gpu_.fork));
    TRY(CopyWay(Way::kDown, pinned_.bytes(), device_, bytes_, stream));
    TRY(CopyWay(Way::kUp, pinned_.bytes() + bytes_, device_ + bytes_, bytes_, branch));
    CUDA_TRY(cudaEventRecord(gpu_.joins[0], branch));
    CUDA_TRY(cudaStreamWaitEvent(stream, gpu_.joins[0]));
    return Ok();
  }
  Status Check() override {
    // Both ways through the host and back: the last byte and the first must be what was filled.
    std::vector<char> want(static_cast<size_t>(std::min<int64_t>(bytes_, kMiB)));
    const int64_t tail = bytes_ - static_cast<int64_t>(want.size());
    TRY(Download(gpu_.stream, device_ + tail, static_cast<int64_t>(want.size()), want.data()));
    TRY(CopyWay(Way::kDown, pinned_.bytes(), device_, bytes_, gpu_.stream));
    CUDA_TRY(cudaStreamSynchronize(gpu_.stream));
    if (std::memcmp(pinned_.bytes() + tail, want.data(), want.size()) != 0)
      return Fail(Code::kWithheld, "the copy differs");
    TRY(Poison(gpu_.stream, device_, bytes_));
    TRY(CopyWay(Way::kUp, pinned_.bytes(), device_, bytes_, gpu_.stream));
    std::vector<char> got(want.size());
    TRY(Download(gpu_.stream, device_ + tail, static_cast<int64_t>(got.size()), got.data()));
    if (got != want) return Fail(Code::kWithheld, "the copy differs");
    if (way_ == Way::kBoth) std::memset(pinned_.bytes() + bytes_, 0, static_cast<size_t>(bytes_));
    return Ok();
  }

 private:
  Way way_;
  int64_t bytes_;
  Pinned pinned_;
  char* device_ = nullptr;
};

// A copy to the host beside compute.
class Hidden : public Experiment {
 public:
  Hidden(Gpu& gpu, const char* compute) : gpu_(gpu), gemm_(std::strcmp(compute, "gemm") == 0) {
    for (const char* value : {"hidden", "slowdown"}) {
      rows_.push_back({"offload.hide",
                       {{"bytes", static_cast<double>(kBytes)}},
                       {{"communication", "copy_engine"}, {"compute", compute}, {"value", value}},
                       "ratio",
                       0,
                       "measured"});
    }
    stage_ = 1;
  }
  Status Prepare() override {
    gpu_.arena.Reset();
    TRY(pinned_.Get(kBytes));
    TRY(gpu_.arena.Get(kBytes, &device_));
    TRY(FillBf16(gpu_.stream, reinterpret_cast<Bf16*>(device_), kBytes / 2, 62, 1));
    int sets = 0;
    if (gemm_) {
      const int size = gpu_.check_only ? 136 : 4096;
      TRY(gemms_.Open(gpu_, BestPath(gpu_), {{.m = size, .n = size, .k = size}}));
      TRY(gemms_.AllocateSets(2, &sets));
    } else {
      TRY(gpu_.arena.Get(2 * rows_count_ * kFfn, &in_));
      TRY(gpu_.arena.Get(rows_count_ * kFfn, &out_));
      TRY(gpu_.arena.Get(rows_count_, &probs_));
      TRY(FillBf16(gpu_.stream, in_, 2 * rows_count_ * kFfn, 63, 1));
      TRY(FillFloat(gpu_.stream, probs_, rows_count_, 64, 1));
    }
    const Enqueue compute = [this](cudaStream_t stream) -> Status {
      if (gemm_) return gemms_.Run(stream, turn_++ % 2);
      return LaunchSwiglu(stream, in_, probs_, rows_count_, kFfn, out_);
    };
    return corun_.Prepare(
        gpu_, compute,
        [this](cudaStream_t stream) { return CopyWay(Way::kDown, pinned_.bytes(), device_, kBytes, stream); },
        /*counter=*/nullptr, 0);
  }
  Status Take(std::vector<double>* values) override {
    Together t;
    TRY(corun_.Take(gpu_, &t));
    // What the copy adds to the compute it runs beside, against what it costs alone.
    const double added = std::max(t.lead + t.compute, t.other) - std::min(0.0, t.lead) - t.compute_alone;
    values->push_back(std::clamp(1 - added / t.other_alone, 0.0, 1.0));
    values->push_back(t.ComputeSlowdown());
    return Ok();
  }

 private:
  static constexpr int64_t kBytes = 64 * kMiB;
  static constexpr int kFfn = 768;
  Gpu& gpu_;
  const int64_t rows_count_ = gpu_.check_only ? 40 : 32768;
  bool gemm_;
  int turn_ = 0;
  Pinned pinned_;
  char* device_ = nullptr;
  Bf16 *in_ = nullptr, *out_ = nullptr;
  float* probs_ = nullptr;
  Gemms gemms_;
  Corun corun_;
};

}  // namespace

Experiments MemoryExperiments(Gpu& gpu) {
  Experiments all;
  const MoeShape& shape = gpu.shape;
  for (const int64_t mib : {64, 1, 4, 16, 128}) {
    if (gpu.check_only && mib > 1) continue;
    for (const Way way : {Way::kDown, Way::kUp})
      all.push_back(std::make_unique<Offload>(gpu, way, mib * kMiB, mib == 64 ? 0 : 2));
  }
  all.push_back(std::make_unique<Offload>(gpu, Way::kBoth, (gpu.check_only ? 1 : 64) * kMiB, 1));
  for (const char* compute : {"gemm", "elementwise"}) all.push_back(std::make_unique<Hidden>(gpu, compute));
  all.push_back(MakeElementwise(gpu, Elementwise::kNorm, "recompute.norm", shape));
  all.push_back(MakeElementwise(gpu, Elementwise::kSwiglu, "recompute.act", shape));
  return all;
}

}  // namespace flightplan::probe
