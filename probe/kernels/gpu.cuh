// What every measured group stands on: one device's memory, streams and timing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "probe/device/device.h"
#include "probe/device/libraries.h"
#include "probe/kernels/ptx.cuh"
#include "probe/kernels/shapes.h"
#include "probe/limits.h"
#include "probe/method/window.h"

#define CUDA_TRY(call)                                                                \
  do {                                                                                \
    if (const cudaError_t cuda_error = (call); cuda_error != cudaSuccess) {           \
      return ::flightplan::probe::CudaFailure(cuda_error, #call, __FILE__, __LINE__); \
    }                                                                                 \
  } while (0)
#define TRY(call)                                                                             \
  do {                                                                                        \
    if (::flightplan::probe::Status try_status = (call); !try_status.ok()) return try_status; \
  } while (0)

namespace flightplan::probe {

Status CudaFailure(cudaError_t error, const char* call, const char* file, int line);

struct Grid {
  cudaStream_t stream = nullptr;
  int64_t blocks = 1;
  int threads = 32;  // of a block
  size_t shared_bytes = 0;
  bool cooperative = false;  // starts only when all blocks fit at once
};

// The one place where kernels start: on a GPU, or thread by thread on a CPU (probe/emulation), where tests run them.
template <class... P>
Status RunKernel(const Grid& grid, void (*kernel)(P...), std::type_identity_t<P>... arguments) {
  const dim3 blocks(static_cast<unsigned>(grid.blocks)), threads(static_cast<unsigned>(grid.threads));
#ifdef __CUDACC__
  if (grid.cooperative) {
    void* addresses[] = {&arguments..., nullptr};
    CUDA_TRY(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), blocks, threads, addresses,
                                         grid.shared_bytes, grid.stream));
    return Ok();
  }
  kernel<<<blocks, threads, grid.shared_bytes, grid.stream>>>(arguments...);
#else
  CUDA_TRY(emulation::Launch(
      {grid.stream, blocks, threads, grid.shared_bytes, grid.cooperative, reinterpret_cast<const void*>(kernel)},
      [=] { kernel(arguments...); }));
#endif
  CUDA_TRY(cudaGetLastError());
  return Ok();
}

// Tells a test when the stream has come here; on a GPU it is nothing.
inline void Trace([[maybe_unused]] cudaStream_t stream, [[maybe_unused]] const std::string& what) {
#ifndef __CUDACC__
  emulation::Mark(stream, what);
#endif
}

// One slab of device memory, handed out from the front. Everything is given back at once.
class Arena {
 public:
  Status Reserve(int64_t bytes);
  void Release();
  void Reset();
  // 256-byte aligned. kUnsupported: it does not fit; the message says what would.
  template <class T>
  Status Get(int64_t count, T** memory) {
    void* address = nullptr;
    TRY(Bytes(count * static_cast<int64_t>(sizeof(T)), &address));
    *memory = static_cast<T*>(address);
    return Ok();
  }
  int64_t room() const { return size_ - used_; }
  char* base() const { return base_; }
  int64_t size() const { return size_; }
  int64_t peak() const { return peak_; }

 private:
  Status Bytes(int64_t bytes, void** memory);

  char* base_ = nullptr;
  int64_t size_ = 0, used_ = 0, peak_ = 0;
};

// Used by one thread.
struct Gpu {
  int index = 0;
  bool check_only = false;    // shapes are small, nothing is timed
  bool timed_checks = false;  // for tests: small shapes are timed all the same
  bool once = false;          // shapes are those that are measured, nothing is timed: for profilers
  MoeShape shape;
  int64_t allowed_bytes = int64_t{kDefaultMemoryMib} << 20;  // of device memory, all in all
  int team_size = 1;  // devices that are measured together: exchanges between them need not be stood in for
  std::optional<double> nvlink_bytes_per_second;  // of all links, one way, as they are clocked; nothing: not told
  // Bytes of the device that all processes hold, as they were before this one's context; null: nobody tells.
  std::function<std::optional<int64_t>()> used_bytes;
  std::optional<int64_t> used_before;
  int sm_count = 0;
  int64_t l2_bytes = 0;
  int shared_bytes_per_block = 0;  // with opt-in
  int compute_major = 0;
  Arena arena;
  std::unique_ptr<BlasLt> blas;  // null: not installed
  void* blas_workspace[5] = {};  // of the main stream and of the branches
  cudaStream_t stream = nullptr;
  cudaStream_t side = nullptr;    // for what runs beside `stream`
  cudaStream_t urgent = nullptr;  // as `side`, of the highest priority
  cudaStream_t branches[4] = {};  // expert GEMMs, as TransformerEngine spreads them
  cudaEvent_t fork = nullptr, joins[4] = {};
  volatile int* hold_host = nullptr;  // pinned; what kernels that hold a stream wait for
  int* hold_device = nullptr;
  int hold_ticket = 0;

  // `alone`: its clocks are raised at once; a team's are raised together.
  Status Open(int device, bool alone = true);
  void Close();
  // What this process holds of the device in all, with context and libraries; nothing: not told.
  std::optional<int64_t> HeldBytes() const;
  bool timed() const { return (!check_only || timed_checks) && !once; }

  // Holds `on` until Release, or two seconds at most. Not at all where nothing is timed: a sanitizer or a profiler may
  // run every kernel to its end before the next is queued.
  Status Hold(cudaStream_t on);
  void Release() { *hold_host = hold_ticket; }

 private:
  Status RaiseClocks();
};

// Holds a stream until *flag has come to `ticket`, or two seconds at most. The flag is pinned host memory.
Status HoldOn(cudaStream_t stream, const int* flag, int ticket);

// A pair of events.
class Span {
 public:
  Span() = default;
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  Status Begin(cudaStream_t stream) { return Record(&begin_, stream); }
  Status End(cudaStream_t stream) { return Record(&end_, stream); }
  // After both have passed.
  Status Us(double* us) const;
  cudaEvent_t begin() const { return begin_; }
  cudaEvent_t end() const { return end_; }

 private:
  Status Record(cudaEvent_t* event, cudaStream_t stream);

  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

using Enqueue = std::function<Status(cudaStream_t stream)>;

// Runs `work` to its end. The first launch of a kernel loads it, for which the driver may wait for the whole device: it
// must not come behind a held stream or beside a kernel that waits, nor be part of a time or of a graph.
Status WarmUp(Gpu& gpu, const Enqueue& work);

// Work captured once and replayed, timed by events inside the graph, so that its launch is not in the time.
class TimedGraph {
 public:
  TimedGraph() = default;
  ~TimedGraph();
  TimedGraph(const TimedGraph&) = delete;
  TimedGraph& operator=(const TimedGraph&) = delete;
  Status Capture(Gpu& gpu, const Enqueue& work);
  Status Launch(cudaStream_t stream);
  Status Replay(Gpu& gpu, double* us);  // waits for the end
  const Span& span() const { return span_; }

 private:
  Span span_;
  cudaGraphExec_t graph_ = nullptr;
};

// Microseconds of `work` on the main stream, enqueued while the stream is held.
Status TimeHeld(Gpu& gpu, const Enqueue& work, double* us);

// An experiment whose samples are windows of one operation in a graph.
class WindowExperiment : public Experiment {
 public:
  explicit WindowExperiment(Gpu& gpu) : gpu_(gpu) {}
  Status Prepare() final;
  Status Take(std::vector<double>* values) override;
  bool checked() const override { return checked_; }

 protected:
  // Takes memory from gpu_.arena, fills it, and sets sets_.
  virtual Status Allocate() = 0;
  // Enqueues one operation on a set of buffers.
  virtual Status Launch(cudaStream_t stream, int set) = 0;
  // Runs the operation on poisoned outputs and holds them against a reference; kWithheld where it differs.
  virtual Status Check() = 0;

  // Of one row with one unit; the common case.
  void SetRow(std::string id, std::string unit, double work, std::map<std::string, double> parameters,
              std::map<std::string, std::string> labels = {}, std::string kind = "measured");
  int SetsFor(int64_t set_bytes) const { return std::max(1, BufferSets(set_bytes, gpu_.l2_bytes, gpu_.arena.room())); }

  Gpu& gpu_;
  int sets_ = 1;

 private:
  TimedGraph window_;
  int operations_ = 0;
  bool checked_ = false;
};

// A row that this worker cannot measure, so that the profile says so.
class Absent : public Experiment {
 public:
  Absent(std::string id, std::string why);
  Status Prepare() override { return Fail(Code::kUnsupported, why_); }
  Status Take(std::vector<double>*) override { return Prepare(); }

 private:
  std::string why_;
};

// ---- Data that host and device agree on without a copy.

__host__ __device__ inline uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Close to a standard normal: the sum of four uniform numbers, exact in fp32 and equal on host and device.
__host__ __device__ inline float NormalAt(uint32_t seed, uint64_t index) {
  const uint64_t h = Mix(index + (static_cast<uint64_t>(seed) << 40));
  const int sum = static_cast<int>((h & 0xffff) + (h >> 16 & 0xffff) + (h >> 32 & 0xffff) + (h >> 48));
  return static_cast<float>(sum - 131070) * (1.0f / 37837.0f);
}
__host__ __device__ inline float ScaledAt(uint32_t seed, uint64_t index, float scale) {
  return NormalAt(seed, index) * scale;
}
// What a bf16 buffer holds after FillBf16.
inline double Bf16At(uint32_t seed, uint64_t index, float scale) {
  return static_cast<double>(__bfloat162float(__float2bfloat16(ScaledAt(seed, index, scale))));
}

// Microseconds of the steady clock.
double HostUs();

Status FillBf16(cudaStream_t stream, Bf16* memory, int64_t count, uint32_t seed, float scale);
Status FillFloat(cudaStream_t stream, float* memory, int64_t count, uint32_t seed, float scale);
// All bits set: NaN in every float format.
Status Poison(cudaStream_t stream, void* memory, int64_t bytes);
Status Download(cudaStream_t stream, const void* device, int64_t bytes, void* host);
Status Upload(cudaStream_t stream, const void* host, int64_t bytes, void* device);

// Collects the difference of sampled outputs to a reference: |got - want| against the size of the outputs.
class Comparison {
 public:
  void Add(double got, double want);
  // kWithheld unless |got - want| / |want| over all samples is within `tolerance`, and no single one is off by more
  // than eight times that. NaN always is. So is nothing compared.
  Status Verdict(const std::string& what, double tolerance) const;

 private:
  double worst_ = 0, square_ = 0, difference_ = 0;
  bool nan_ = false;
  int64_t count_ = 0;
};

inline constexpr double kBf16Tolerance = 1e-2, kFloatTolerance = 1e-5;

inline double AsDouble(Bf16 x) { return static_cast<double>(__bfloat162float(x)); }

inline int CeilDiv(int64_t a, int64_t b) { return static_cast<int>((a + b - 1) / b); }

// One experiment list per group, each in the file of its name.
using Experiments = std::vector<std::unique_ptr<Experiment>>;
Experiments CeilingExperiments(Gpu& gpu);
Experiments DispatchExperiments(Gpu& gpu);
Experiments ExpertExperiments(Gpu& gpu);
Experiments ExchangeExperiments(Gpu& gpu);
Experiments OverlapExperiments(Gpu& gpu);
Experiments LaunchExperiments(Gpu& gpu);
Experiments MemoryExperiments(Gpu& gpu);

struct ExperimentGroup {
  const char* name;  // of kGroups (limits.h)
  Experiments (*make)(Gpu& gpu);
};
inline constexpr ExperimentGroup kExperimentGroups[] = {
    {"ceilings", CeilingExperiments},  {"dispatch", DispatchExperiments}, {"experts", ExpertExperiments},
    {"exchange", ExchangeExperiments}, {"overlap", OverlapExperiments},   {"launch", LaunchExperiments},
    {"memory", MemoryExperiments}};

}  // namespace flightplan::probe
