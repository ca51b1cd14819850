// The ceilings that all later rows are held against: what memory and tensor cores give on this very card.
#include <algorithm>
#include <chrono>
#include <thread>

#include "probe/kernels/copies.cuh"
#include "probe/kernels/gemm.cuh"
#include "probe/method/rounds.h"

namespace flightplan::probe {
namespace {

constexpr int64_t kMiB = 1 << 20;
enum class Op { kCopy, kRead, kFill };

const char* Name(Op op) { return op == Op::kCopy ? "copy" : op == Op::kRead ? "read" : "fill"; }

__device__ inline uint32_t Fold(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

constexpr int kReadSharedBytes = kCopyThreads / 32 * static_cast<int>(sizeof(uint32_t));  // a word of every warp

// The exclusive or of everything, so that no load can be left out.
__global__ void __launch_bounds__(kCopyThreads) ReadKernel(const uint4* from, int64_t words, uint32_t* result) {
  const int64_t threads = blockDim.x, step = threads * kCopyUnroll;
  uint32_t folded = 0;
  for (int64_t at = blockIdx.x * step + threadIdx.x; at < words; at += gridDim.x * step) {
    uint4 held[kCopyUnroll];
#pragma unroll
    for (int i = 0; i < kCopyUnroll; ++i) {
      held[i] = at + i * threads < words ? LoadOnce(from + at + i * threads) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < kCopyUnroll; ++i) folded ^= Fold(held[i]);
  }
  folded = __reduce_xor_sync(0xffffffffu, folded);
  // One word a block: a word of every warp, all to one address, is half of the time that the reading itself takes.
  uint32_t* const warps = reinterpret_cast<uint32_t*>(DynamicShared());
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = folded;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) folded ^= warps[warp];
  atomicXor(result, folded);
}

__global__ void __launch_bounds__(kCopyThreads) FillKernel(uint4* to, int64_t words, uint32_t value) {
  const uint4 word = make_uint4(value, value + 1, value + 2, value + 3);
  const int64_t threads = blockDim.x, step = threads * kCopyUnroll;
  for (int64_t at = blockIdx.x * step + threadIdx.x; at < words; at += gridDim.x * step) {
#pragma unroll
    for (int i = 0; i < kCopyUnroll; ++i) {
      if (at + i * threads < words) StoreOnce(to + at + i * threads, word);
    }
  }
}

__global__ void EmptyKernel() {}

// One of the operations by own kernels: over the whole chip, or by one block on each of `sms` SMs.
class Movement : public WindowExperiment {
 public:
  Movement(Gpu& gpu, Op op, int64_t bytes, int sms, int stage)
      : WindowExperiment(gpu), op_(op), words_(bytes / 16), sms_(sms) {
    const double counted = static_cast<double>(op == Op::kCopy ? 2 * bytes : bytes);
    const double size = static_cast<double>(bytes);
    stage_ = stage;
    if (sms == 0) SetRow(std::string("hbm.") + Name(op), "bytes_per_second", counted, {{"bytes", size}});
    if (sms > 0) {
      SetRow("hbm.sm_curve", "bytes_per_second", counted, {{"bytes", size}, {"sms", sms}}, {{"op", Name(op)}});
    }
  }

 protected:
  Status Allocate() override {
    TRY(gpu_.arena.Get(1, &result_));
    const int64_t set_bytes = words_ * (op_ == Op::kCopy ? 32 : 16);
    sets_ = SetsFor(set_bytes);
    for (int set = 0; set < sets_; ++set) {
      uint4 *from = nullptr, *to = nullptr;
      TRY(gpu_.arena.Get(words_, &from));
      if (op_ == Op::kCopy) TRY(gpu_.arena.Get(words_, &to));
      // The bits of random bf16 numbers: what the kernels of a training step move.
      TRY(FillBf16(gpu_.stream, reinterpret_cast<Bf16*>(from), 8 * words_, static_cast<uint32_t>(set), 1));
      from_.push_back(from);
      to_.push_back(to);
    }
    return Ok();
  }

  Status Launch(cudaStream_t stream, int set) override { return Run(stream, set, words_); }

  Status Check() override {
    const size_t first = 0;
    if (op_ == Op::kCopy) {
      TRY(Poison(gpu_.stream, to_[first], 16 * words_));
      TRY(Run(gpu_.stream, 0, words_));
      int64_t differing = 0;
      TRY(CountDifferent(gpu_.stream, from_[first], to_[first], words_, reinterpret_cast<int*>(result_), &differing));
      return differing == 0 ? Ok() : Fail(Code::kWithheld, std::to_string(differing) + " words of the copy differ");
    }
    // A part is enough for what every word goes through in the same way; it is no whole number of tiles.
    const int64_t part = std::min<int64_t>(words_, 3 * kCopyTile + 77);
    std::vector<uint32_t> words(static_cast<size_t>(4 * part));
    CUDA_TRY(cudaMemsetAsync(result_, 0, sizeof(uint32_t), gpu_.stream));
    if (op_ == Op::kFill) TRY(Poison(gpu_.stream, from_[first], 16 * part));
    TRY(Run(gpu_.stream, 0, part));
    uint32_t result = 0, want = 0;
    TRY(Download(gpu_.stream, result_, sizeof result, &result));
    TRY(Download(gpu_.stream, from_[first], 16 * part, words.data()));
    for (size_t i = 0; i < words.size(); ++i) {
      want ^= words[i];
      if (op_ == Op::kFill && words[i] != kFillValue + i % 4) return Fail(Code::kWithheld, "the fill left words out");
    }
    if (op_ == Op::kRead && result != want) return Fail(Code::kWithheld, "the read left words out");
    return Ok();
  }

 private:
  static constexpr uint32_t kFillValue = 0x3f803f80;  // ones in bf16

  Status Run(cudaStream_t stream, int set, int64_t words) {
    const size_t s = static_cast<size_t>(set);
    const bool alone = sms_ > 0;
    const int blocks = alone ? sms_ : SpreadBlocks(words), threads = alone ? kCopyThreads : kSpreadThreads;
    const size_t shared = static_cast<size_t>(alone ? AloneBytes(gpu_) : kReadSharedBytes);
    if (op_ == Op::kCopy) return LaunchCopy(gpu_, stream, from_[s], to_[s], words, blocks, alone);
    const auto allow = [&](const void* kernel) {
      return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
    };
    if (op_ == Op::kRead) {
      CUDA_TRY(allow(reinterpret_cast<const void*>(ReadKernel)));
      TRY(RunKernel({stream, blocks, threads, shared}, ReadKernel, from_[s], words, result_));
    } else {
      CUDA_TRY(allow(reinterpret_cast<const void*>(FillKernel)));
      TRY(RunKernel({stream, blocks, threads, shared}, FillKernel, from_[s], words, kFillValue));
    }
    CUDA_TRY(cudaGetLastError());
    return Ok();
  }

  Op op_;
  int64_t words_;
  int sms_;
  std::vector<uint4*> from_, to_;
  uint32_t* result_ = nullptr;
};

// What the driver does for the same: the peers of the own kernels.
class DriverMovement : public WindowExperiment {
 public:
  DriverMovement(Gpu& gpu, Op op, int64_t bytes) : WindowExperiment(gpu), op_(op), bytes_(bytes) {
    stage_ = 1;
    SetRow(op == Op::kCopy ? "hbm.copy_engine" : "hbm.memset", "bytes_per_second",
           static_cast<double>(op == Op::kCopy ? 2 * bytes : bytes), {{"bytes", static_cast<double>(bytes)}});
  }

 protected:
  Status Allocate() override {
    sets_ = SetsFor(op_ == Op::kCopy ? 2 * bytes_ : bytes_);
    from_.assign(static_cast<size_t>(sets_), nullptr);
    to_ = from_;
    for (size_t set = 0; set < from_.size(); ++set) {
      TRY(gpu_.arena.Get(bytes_, &to_[set]));
      if (op_ != Op::kCopy) continue;
      TRY(gpu_.arena.Get(bytes_, &from_[set]));
      TRY(FillBf16(gpu_.stream, reinterpret_cast<Bf16*>(from_[set]), bytes_ / 2, 1, 1));
    }
    return Ok();
  }
  Status Launch(cudaStream_t stream, int set) override {
    const size_t s = static_cast<size_t>(set), bytes = static_cast<size_t>(bytes_);
    if (op_ == Op::kCopy) CUDA_TRY(cudaMemcpyAsync(to_[s], from_[s], bytes, cudaMemcpyDeviceToDevice, stream));
    if (op_ == Op::kFill) CUDA_TRY(cudaMemsetAsync(to_[s], 0x5a, bytes, stream));
    return Ok();
  }
  Status Check() override { return Ok(); }  // the driver's own

 private:
  Op op_;
  int64_t bytes_;
  std::vector<char*> from_, to_;
};

class EmptyKernels : public WindowExperiment {
 public:
  explicit EmptyKernels(Gpu& gpu) : WindowExperiment(gpu) { SetRow("timing.null", "us", 0, {}); }

 protected:
  Status Allocate() override { return Ok(); }
  Status Launch(cudaStream_t stream, int) override { return RunKernel({stream, 1, 32}, EmptyKernel); }
  Status Check() override { return Ok(); }
};

class DenseGemm : public WindowExperiment {
 public:
  DenseGemm(Gpu& gpu, GemmPath path) : WindowExperiment(gpu), path_(path) {
    const int size = gpu.check_only ? 328 : 8192;
    shape_ = {.m = size, .n = size, .k = size};
    SetRow("mm.dense", "flops_per_second", shape_.Flops(), {{"rows", size}, {"n", size}, {"k", size}},
           {{"path", Name(path)}});
    if (path == GemmPath::kTma) stage_ = 3;
  }
  int sample_count() const override { return 9; }

 protected:
  Status Allocate() override {
    TRY(gemm_.Open(gpu_, path_, {shape_}));
    return gemm_.AllocateSets(1, &sets_);  // 400 MB of operands: no set fits any cache
  }
  Status Launch(cudaStream_t stream, int set) override { return gemm_.Run(stream, set); }
  Status Check() override { return gemm_.Check(); }

 private:
  GemmShape shape_;
  GemmPath path_;
  Gemms gemm_;
};

// Cycles of one SM and nanoseconds that pass meanwhile.
__global__ void ClockKernel(uint64_t ns, unsigned long long* cycles_and_ns) {
  const uint64_t begin = GlobalNs();
  const long long first = clock64();
  while (GlobalNs() - begin < ns) __nanosleep(100);
  cycles_and_ns[0] = static_cast<unsigned long long>(clock64() - first);
  cycles_and_ns[1] = GlobalNs() - begin;
}

// The dense GEMM as a training step runs it, second after second, and the clock that the card keeps meanwhile; or one
// window of it on a card that has rested. Between the two lies what power and heat cost.
class MatrixClock : public Experiment {
 public:
  MatrixClock(Gpu& gpu, bool sustained) : gpu_(gpu), sustained_(sustained) {
    const double size = gpu.check_only ? 136 : 8192;
    const std::map<std::string, double> parameters = {{"rows", size}, {"n", size}, {"k", size}};
    const std::map<std::string, std::string> path = {{"path", Name(BestPath(gpu))}};
    shape_ = {.m = static_cast<int>(size), .n = static_cast<int>(size), .k = static_cast<int>(size)};
    if (sustained) rows_ = {{"mm.sustained", parameters, path, "flops_per_second", shape_.Flops(), "measured"}};
    std::map<std::string, std::string> labels = path;
    labels["load"] = sustained ? "sustained" : "burst";
    rows_.push_back({"mm.clock", parameters, labels, "ratio", 0, "measured"});
    stage_ = 1;
  }
  bool checked() const override { return true; }
  int sample_count() const override { return sustained_ ? 5 : 9; }

  Status Prepare() override {
    gpu_.arena.Reset();
    CUDA_TRY(cudaDeviceGetAttribute(&most_khz_, cudaDevAttrClockRate, gpu_.index));
    if (most_khz_ <= 0) return Fail(Code::kUnsupported, "the driver does not tell the highest clock");
    TRY(gpu_.arena.Get(2, &clock_));
    TRY(gemm_.Open(gpu_, BestPath(gpu_), {shape_}));
    int sets = 0;
    TRY(gemm_.AllocateSets(1, &sets));
    TRY(gemm_.Check());
    TRY(WarmUp(gpu_, [this](cudaStream_t s) { return Clock(s); }));
    if (!gpu_.timed()) return Ok();
    double us = 0;
    const Enqueue one = [this](cudaStream_t s) { return gemm_.Run(s, 0); };
    TRY(TimeHeld(gpu_, one, &us));
    const double window_us = sustained_ ? kSustainedUs : kWindowUs;
    turns_ = std::clamp(static_cast<int>(window_us / std::max(us, 1e-3)), 1, kMostTurns);
    TRY(window_.Capture(gpu_, [this](cudaStream_t s) -> Status {
      for (int i = 0; i < turns_; ++i) TRY(gemm_.Run(s, 0));
      return Ok();
    }));
    // Until power and heat have settled as far as a probe may wait.
    const double begin = HostUs();
    while (sustained_ && HostUs() - begin < kSettleUs && !gpu_.check_only) TRY(window_.Replay(gpu_, &us));
    return Ok();
  }

  Status Take(std::vector<double>* values) override {
    if (!sustained_ && !gpu_.check_only) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    double us = 0;
    TRY(gpu_.Hold(gpu_.stream));
    Status status = window_.Launch(gpu_.stream);
    if (status.ok()) status = Clock(gpu_.stream);
    gpu_.Release();
    TRY(status);
    unsigned long long clock[2];
    TRY(Download(gpu_.stream, clock_, sizeof clock, clock));
    TRY(window_.span().Us(&us));
    if (clock[1] == 0) return Fail(Code::kWithheld, "the device's clock stood still");
    if (sustained_) values->push_back(us / turns_);
    values->push_back(1e6 * static_cast<double>(clock[0]) / static_cast<double>(clock[1]) / most_khz_);
    return Ok();
  }

 private:
  static constexpr double kSustainedUs = 150e3, kSettleUs = 1e6;
  static constexpr uint64_t kClockNs = 50'000;
  static constexpr int kMostTurns = 1024;

  Status Clock(cudaStream_t stream) { return RunKernel({stream, 1, 1}, ClockKernel, kClockNs, clock_); }

  Gpu& gpu_;
  bool sustained_;
  int turns_ = 1, most_khz_ = 0;
  GemmShape shape_;
  Gemms gemm_;
  TimedGraph window_;
  unsigned long long* clock_ = nullptr;
};

}  // namespace

Experiments CeilingExperiments(Gpu& gpu) {
  Experiments all;
  // A check takes the last tile, which is not full, through all; the full ones are all alike.
  const auto size = [&](int64_t mib) { return gpu.check_only ? kMiB + 16 * 77 : mib * kMiB; };
  for (const int64_t mib : {256, 128, 64}) {
    if (gpu.check_only && mib != 256) continue;
    for (const Op op : {Op::kCopy, Op::kRead, Op::kFill}) {
      all.push_back(std::make_unique<Movement>(gpu, op, size(mib), 0, mib == 256 ? 0 : 2));
    }
  }
  for (const Op op : {Op::kCopy, Op::kFill}) all.push_back(std::make_unique<DriverMovement>(gpu, op, size(256)));
  for (const GemmPath path : {GemmPath::kLibrary, GemmPath::kOwn, GemmPath::kTma})
    all.push_back(std::make_unique<DenseGemm>(gpu, path));
  AddFp8Dense(gpu, &all);
  for (const bool sustained : {false, true}) all.push_back(std::make_unique<MatrixClock>(gpu, sustained));
  all.push_back(std::make_unique<EmptyKernels>(gpu));
  for (const int sms : {1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 96, gpu.sm_count}) {
    if (sms > gpu.sm_count || (gpu.check_only && sms != 1 && sms != 20)) continue;
    for (const Op op : {Op::kCopy, Op::kRead, Op::kFill}) {
      // Few SMs are slow: a smaller window is long enough.
      const int64_t about = size(sms < 8 ? 16 : 64);
      const int64_t bytes = gpu.check_only ? about : WholeRounds(about, 16 * kCopyTile, sms);
      all.push_back(std::make_unique<Movement>(gpu, op, bytes, sms, op == Op::kCopy ? 1 : 2));
    }
  }
  return all;
}

}  // namespace flightplan::probe
