#include <algorithm>
#include <cmath>

#include "probe/kernels/gemm_tiles.cuh"

namespace flightplan::probe {
namespace {

constexpr uint32_t kSeedA = 11, kSeedB = 12, kSeedC = 13;

GemmKernelInfo KernelFor(GemmPath path, const GemmShape& shape) {
  return path == GemmPath::kTma ? TmaKernelFor(shape) : MmaKernelFor(shape);
}

std::string Describe(const GemmShape& s) {
  return "m=" + std::to_string(s.m) + " n=" + std::to_string(s.n) + " k=" + std::to_string(s.k) +
         " a_by_k=" + std::to_string(s.a_by_k) + " b_by_k=" + std::to_string(s.b_by_k) +
         " accumulate_fp32=" + std::to_string(s.accumulate_fp32) + " scales=" + Name(s.a_scales) + "," +
         Name(s.b_scales);
}

int TilesOf(const GemmShape& shape) { return CeilDiv(shape.m, kTileM) * CeilDiv(shape.n, kTileN); }
int64_t OutputBytes(const GemmShape& shape) { return shape.accumulate_fp32 ? 4 : 2; }
// As the arena does: the copy engine and 16-byte loads ask for aligned operands.
int64_t Aligned(int64_t elements) { return (elements + 127) / 128 * 128; }
float ScaleB(const GemmShape& shape) { return 1.0f / std::sqrt(static_cast<float>(std::max(shape.k, 1))); }

}  // namespace

int64_t OperandPool::Elements(const GemmShape& s, int count) {
  return count * (Aligned(int64_t{s.m} * s.k) + Aligned(int64_t{s.n} * s.k));
}

Status OperandPool::Reserve(Arena& arena, int64_t elements) {
  elements_ = elements;
  used_ = 0;
  return arena.Get(elements, &memory_);
}

Status OperandPool::Take(int64_t elements, Bf16** memory) {
  if (used_ + Aligned(elements) > elements_) return Fail(Code::kFailed, "the pool of operands is too small for a GEMM");
  *memory = memory_ + used_;
  used_ += Aligned(elements);
  return Ok();
}

Status Gemms::Open(Gpu& gpu, GemmPath path, std::vector<GemmShape> shapes, int sm_count) {
  gpu_ = &gpu;
  path_ = path;
  sm_count_ = sm_count;
  shapes_ = std::move(shapes);
  plans_.clear();
  sets_.clear();
  wide_ = nullptr;
  tiles_ = 0;
  for (GemmShape& shape : shapes_) {
    shape.sm_count = sm_count;
    tiles_ += TilesOf(shape);
  }
  if (path != GemmPath::kLibrary) {
    if (shapes_.front().fp8()) return Fail(Code::kUnsupported, "no kernel of this worker multiplies FP8");
    if (path != GemmPath::kOwn && gpu.compute_major != 9) {
      return Fail(Code::kUnsupported, "wgmma is of compute capability 9.0");
    }
    const GemmKernelInfo own = KernelFor(path, shapes_.front());
    if (own.threads == 0) {
      return Fail(Code::kFailed,
                  "the own kernels have the storage orders of a layer's forward pass, input and weight "
                  "gradient alone; asked was " +
                      Describe(shapes_.front()));
    }
    const int shared = static_cast<int>(own.shared_bytes);
    CUDA_TRY(own.mapped != nullptr
                 ? cudaFuncSetAttribute(own.mapped, cudaFuncAttributeMaxDynamicSharedMemorySize, shared)
                 : cudaFuncSetAttribute(own.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    return Ok();
  }
  if (gpu.blas == nullptr) {
    return Fail(Code::kUnsupported, gpu.timed() ? "cuBLASLt is not installed" : "only what is timed asks cuBLASLt");
  }
  for (size_t i = 0; i < shapes_.size(); ++i) {
    if (shapes_[i].m == 0) {
      plans_.push_back(nullptr);
    } else if (i > 0 && shapes_[i].m == shapes_[i - 1].m && plans_.back() != nullptr) {
      plans_.push_back(plans_.back());  // m is all in which experts differ
    } else {
      plans_.push_back(gpu.blas->MakePlan(shapes_[i]));
      if (plans_.back() == nullptr) {
        return Fail(Code::kUnsupported, "cuBLASLt has no algorithm for " + Describe(shapes_[i]));
      }
    }
  }
  return Ok();
}

int64_t Gemms::SetBytes() const {
  int64_t bytes = 0;
  for (const GemmShape& s : shapes_) {
    const int64_t operands = int64_t{s.m} * s.k + int64_t{s.n} * s.k;
    bytes += (s.fp8() ? operands + operands / 32 : 2 * operands) + OutputBytes(s) * s.m * s.n + 5 * 256;
  }
  return bytes;
}

double Gemms::Flops() const {
  double flops = 0;
  for (const GemmShape& shape : shapes_) flops += shape.Flops();
  return flops;
}

Status Gemms::AllocateSets(int most, int* sets) {
  const int64_t set_bytes = SetBytes() + 4096;
  const int count = std::clamp(BufferSets(set_bytes, gpu_->l2_bytes, gpu_->arena.room()), 1, most);
  sets_.resize(static_cast<size_t>(count));
  for (Set& set : sets_) TRY(shapes_.front().fp8() ? AllocateFp8Set(&set) : AllocateSet(&set, nullptr));
  *sets = count;
  return Ok();
}

Status Gemms::AllocateFrom(OperandPool* pool) {
  sets_.resize(1);
  pool->Rewind();
  return AllocateSet(&sets_.front(), pool);
}

Status Gemms::AllocateSet(Set* set, OperandPool* pool) {
  std::vector<GemmTask> tasks;
  int first_tile = 0;
  for (const GemmShape& s : shapes_) {
    Bf16 *a = nullptr, *b = nullptr;
    char* c = nullptr;
    const int64_t a_count = int64_t{s.m} * s.k, b_count = int64_t{s.n} * s.k;
    TRY(pool == nullptr ? gpu_->arena.Get(a_count, &a) : pool->Take(a_count, &a));
    TRY(pool == nullptr ? gpu_->arena.Get(b_count, &b) : pool->Take(b_count, &b));
    TRY(gpu_->arena.Get(OutputBytes(s) * s.m * s.n, &c));
    const uint32_t task = static_cast<uint32_t>(tasks.size()) << 8;
    TRY(FillBf16(gpu_->stream, a, a_count, kSeedA + task, 1));
    TRY(FillBf16(gpu_->stream, b, b_count, kSeedB + task, ScaleB(s)));
    if (s.accumulate_fp32) {
      TRY(FillFloat(gpu_->stream, reinterpret_cast<float*>(c), int64_t{s.m} * s.n, kSeedC + task, 1));
    } else {
      TRY(Poison(gpu_->stream, c, OutputBytes(s) * s.m * s.n));
    }
    set->a.push_back(a);
    set->b.push_back(b);
    set->c.push_back(c);
    tasks.push_back({a, b, c, s.m, s.n, s.k, first_tile});
    first_tile += TilesOf(s);
  }
  if (path_ == GemmPath::kTma) {
    std::vector<TensorMap> maps(2 * tasks.size());
    for (size_t i = 0; i < tasks.size(); ++i) {
      TRY(MakeOperandMaps(tasks[i], shapes_[i], &maps[2 * i], &maps[2 * i + 1]));
    }
    TRY(gpu_->arena.Get(static_cast<int64_t>(maps.size()), &set->maps));
    TRY(Upload(gpu_->stream, maps.data(), static_cast<int64_t>(maps.size() * sizeof(TensorMap)), set->maps));
  }
  TRY(gpu_->arena.Get(static_cast<int64_t>(tasks.size()), &set->tasks));
  return Upload(gpu_->stream, tasks.data(), static_cast<int64_t>(tasks.size() * sizeof(GemmTask)), set->tasks);
}

Status Gemms::AllocateFp8Set(Set* set) {
  int64_t most = 0;
  for (const GemmShape& s : shapes_) most = std::max(most, int64_t{std::max(s.m, s.n)} * s.k);
  Bf16* wide = wide_;
  if (wide == nullptr) TRY(gpu_->arena.Get(most, &wide));
  wide_ = wide;
  for (const GemmShape& s : shapes_) {
    const uint32_t task = static_cast<uint32_t>(set->c.size()) << 8;
    char* c = nullptr;
    TRY(AllocateFp8(gpu_->arena, s.a_scales, s.m, s.k, &set->a8.emplace_back()));
    TRY(AllocateFp8(gpu_->arena, s.b_scales, s.n, s.k, &set->b8.emplace_back()));
    TRY(gpu_->arena.Get(OutputBytes(s) * s.m * s.n, &c));
    TRY(FillRagged(gpu_->stream, wide, s.m, s.k, kSeedA + task));
    TRY(CastFp8(gpu_->stream, wide, kMostRagged, set->a8.back()));
    TRY(FillRagged(gpu_->stream, wide, s.n, s.k, kSeedB + task));
    TRY(CastFp8(gpu_->stream, wide, kMostRagged, set->b8.back()));
    TRY(Poison(gpu_->stream, c, OutputBytes(s) * s.m * s.n));
    set->c.push_back(c);
  }
  return Ok();
}

Status Gemms::Run(cudaStream_t stream, int set) {
  const Set& chosen = sets_[static_cast<size_t>(set) % sets_.size()];
  return path_ == GemmPath::kLibrary ? RunLibrary(stream, chosen) : RunOwn(stream, chosen);
}

Status Gemms::RunOwn(cudaStream_t stream, const Set& set) {
  const int most = sm_count_ > 0 ? sm_count_ : gpu_->sm_count;
  const int blocks = std::min(tiles_, most);
  if (blocks == 0) return Ok();
  const GemmKernelInfo own = KernelFor(path_, shapes_.front());
  const Grid grid = {stream, blocks, own.threads, own.shared_bytes};
  const int tasks = static_cast<int>(shapes_.size());
  if (own.mapped != nullptr) return RunKernel(grid, own.mapped, set.tasks, set.maps, tasks, tiles_);
  return RunKernel(grid, own.kernel, set.tasks, tasks, tiles_);
}

Status Gemms::RunLibrary(cudaStream_t stream, const Set& set) {
  const bool spread = shapes_.size() > 1;
  if (spread) {
    CUDA_TRY(cudaEventRecord(gpu_->fork, stream));
    for (cudaStream_t branch : gpu_->branches) CUDA_TRY(cudaStreamWaitEvent(branch, gpu_->fork));
  }
  for (size_t i = 0; i < shapes_.size(); ++i) {
    if (plans_[i] == nullptr) continue;
    cudaStream_t on = spread ? gpu_->branches[i % 4] : stream;
    const bool fp8 = shapes_[i].fp8();
    const BlasLt::Operand a = fp8 ? BlasLt::Operand{set.a8[i].numbers, set.a8[i].scales} : BlasLt::Operand{set.a[i]};
    const BlasLt::Operand b = fp8 ? BlasLt::Operand{set.b8[i].numbers, set.b8[i].scales} : BlasLt::Operand{set.b[i]};
    const int error = plans_[i]->Run(a, b, set.c[i], gpu_->blas_workspace[spread ? 1 + i % 4 : 0], on);
    if (error != 0) return Fail(Code::kFailed, "cublasLtMatmul failed with " + std::to_string(error));
  }
  for (int i = 0; spread && i < 4; ++i) {
    CUDA_TRY(cudaEventRecord(gpu_->joins[i], gpu_->branches[i]));
    CUDA_TRY(cudaStreamWaitEvent(stream, gpu_->joins[i]));
  }
  return Ok();
}

Status Gemms::Check() {
  constexpr int kSamples = 96;
  TRY(Run(gpu_->stream, 0));
  CUDA_TRY(cudaStreamSynchronize(gpu_->stream));
  Comparison comparison;
  const Set& set = sets_.front();
  Readers readers;
  TRY(OpenReaders(set, &readers));
  for (int i = 0; i < kSamples; ++i) {
    const size_t task = static_cast<size_t>(i) % shapes_.size();
    const GemmShape& s = shapes_[task];
    if (s.m == 0 || s.n == 0) continue;
    const uint64_t random = Mix(static_cast<uint64_t>(i));
    const bool corner = i < 2 * static_cast<int>(shapes_.size());  // the last row and column are where edges go wrong
    const int row = corner ? s.m - 1 : static_cast<int>(random % static_cast<uint64_t>(s.m));
    const int column = corner ? s.n - 1 : static_cast<int>((random >> 32) % static_cast<uint64_t>(s.n));
    TRY(CheckElement(set, readers, task, row, column, &comparison));
  }
  // Tensor cores cut off where they add: sums of 16384 products are off by some 5e-5. One lost product is 1e-2.
  return comparison.Verdict("the GEMM's output", shapes_.front().accumulate_fp32 ? 3e-4 : kBf16Tolerance);
}

// Of 8 bits a product is of what the operands hold: casts are held against their reference by themselves.
Status Gemms::OpenReaders(const Set& set, Readers* readers) {
  for (size_t i = 0; i < set.a8.size(); ++i) {
    auto& [a, b] = readers->emplace_back();
    TRY(a.Open(gpu_->stream, set.a8[i]));
    TRY(b.Open(gpu_->stream, set.b8[i]));
  }
  return Ok();
}

Status Gemms::Want(const Readers& readers, size_t task, int row, int column, double* want) {
  const GemmShape& s = shapes_[task];
  *want = 0;
  if (s.fp8()) {
    std::vector<double> a, b;
    TRY(readers[task].first.Row(row, &a));
    TRY(readers[task].second.Row(column, &b));
    for (size_t i = 0; i < a.size(); ++i) *want += a[i] * b[i];
    return Ok();
  }
  const uint32_t salt = static_cast<uint32_t>(task) << 8;
  const uint64_t m = static_cast<uint64_t>(s.m), n = static_cast<uint64_t>(s.n), k = static_cast<uint64_t>(s.k);
  const uint64_t r = static_cast<uint64_t>(row), c = static_cast<uint64_t>(column);
  if (s.accumulate_fp32) *want = static_cast<double>(ScaledAt(kSeedC + salt, r * n + c, 1));
  for (uint64_t i = 0; i < k; ++i) {
    *want += Bf16At(kSeedA + salt, s.a_by_k ? i * m + r : r * k + i, 1) *
             Bf16At(kSeedB + salt, s.b_by_k ? i * n + c : c * k + i, ScaleB(s));
  }
  return Ok();
}

Status Gemms::CheckElement(const Set& set, const Readers& readers, size_t task, int row, int column,
                           Comparison* comparison) {
  const GemmShape& s = shapes_[task];
  double want = 0;
  TRY(Want(readers, task, row, column, &want));
  const int64_t at = int64_t{row} * s.n + column;
  if (s.accumulate_fp32) {
    float got = 0;
    TRY(Download(gpu_->stream, static_cast<float*>(set.c[task]) + at, sizeof got, &got));
    comparison->Add(static_cast<double>(got), want);
  } else {
    Bf16 got;
    TRY(Download(gpu_->stream, static_cast<Bf16*>(set.c[task]) + at, sizeof got, &got));
    comparison->Add(AsDouble(got), want);
  }
  return Ok();
}

Status GemmWindow::Prepare(Gpu& gpu, GemmPath path, std::vector<GemmShape> shapes, int turns, int sm_count) {
  int sets = 0;
  TRY(gemms_.Open(gpu, path, std::move(shapes), sm_count));
  TRY(gemms_.AllocateSets(3, &sets));
  TRY(gemms_.Check());
  if (!gpu.timed()) return Ok();
  TRY(window_.Capture(gpu, [&](cudaStream_t stream) -> Status {
    for (int i = 0; i < turns * sets; ++i) TRY(gemms_.Run(stream, i));
    return Ok();
  }));
  double us = 0;
  return window_.Replay(gpu, &us);
}

}  // namespace flightplan::probe
