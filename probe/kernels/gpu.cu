#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "probe/kernels/gpu.cuh"

namespace flightplan::probe {
namespace {

constexpr uint64_t kHoldLimitNs = 2'000'000'000;
constexpr double kRiseUs = 250e3;

// Ends when the host has raised the flag to the ticket, or at the deadline: a host that dies must not leave a spinning
// kernel behind.
__global__ void HoldKernel(const volatile int* flag, int ticket) {
  const uint64_t begin = GlobalNs();
  while (*flag - ticket < 0 && GlobalNs() - begin < kHoldLimitNs) __nanosleep(200);
}

__global__ void FillBf16Kernel(Bf16* memory, int64_t count, uint32_t seed, float scale) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    memory[i] = __float2bfloat16(ScaledAt(seed, static_cast<uint64_t>(i), scale));
  }
}

__global__ void FillFloatKernel(float* memory, int64_t count, uint32_t seed, float scale) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    memory[i] = ScaledAt(seed, static_cast<uint64_t>(i), scale);
  }
}

int64_t FillBlocks(int64_t count) { return std::clamp<int64_t>(CeilDiv(count, 256), 1, 1024); }

}  // namespace

Status CudaFailure(cudaError_t error, const char* call, const char* file, int line) {
  const char* slash = std::strrchr(file, '/');
  return Fail(Code::kFailed, std::string(cudaGetErrorName(error)) + " (" + cudaGetErrorString(error) + ") from " +
                                 call + " at " + (slash == nullptr ? file : slash + 1) + ":" + std::to_string(line));
}

Status Arena::Reserve(int64_t bytes) {
  CUDA_TRY(cudaMalloc(&base_, static_cast<size_t>(bytes)));
  size_ = bytes;
  return Ok();
}

void Arena::Reset() {
#ifndef __CUDACC__
  emulation::TakeBack(base_, size_);
#endif
  used_ = 0;
}

void Arena::Release() {
  Reset();
  cudaFree(base_);
  base_ = nullptr;
  size_ = used_ = 0;
}

Status Arena::Bytes(int64_t bytes, void** memory) {
#ifdef __CUDACC__
  const int64_t rounded = (std::max<int64_t>(bytes, 1) + 255) / 256 * 256;
#else
  const int64_t rounded = (std::max<int64_t>(bytes, 1) + 255) / 256 * 256 + emulation::kMarginBytes;
#endif
  if (rounded > room()) {
    return Fail(Code::kUnsupported, "needs more device memory than it may hold, which --memory-mib says");
  }
  *memory = base_ + used_;
  used_ += rounded;
#ifndef __CUDACC__
  emulation::HandOut(*memory, bytes);
#endif
  peak_ = std::max(peak_, used_);
  return Ok();
}

Status Gpu::Open(int device, bool alone) {
  index = device;
  // Only this device gets a context; the host sleeps while it waits.
  CUDA_TRY(cudaInitDevice(device, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid));
  CUDA_TRY(cudaSetDevice(device));
  int l2 = 0;
  CUDA_TRY(cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, device));
  CUDA_TRY(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
  CUDA_TRY(cudaDeviceGetAttribute(&shared_bytes_per_block, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  CUDA_TRY(cudaDeviceGetAttribute(&compute_major, cudaDevAttrComputeCapabilityMajor, device));
  l2_bytes = l2;
  int least = 0, greatest = 0;
  CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA_TRY(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  CUDA_TRY(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
  CUDA_TRY(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  for (int i = 0; i < 4; ++i) {
    CUDA_TRY(cudaStreamCreateWithFlags(&branches[i], cudaStreamNonBlocking));
    CUDA_TRY(cudaEventCreateWithFlags(&joins[i], cudaEventDisableTiming));
  }
  int* host = nullptr;
  CUDA_TRY(cudaHostAlloc(&host, sizeof(int), cudaHostAllocMapped));
  *host = 0;
  hold_host = host;
  CUDA_TRY(cudaHostGetDevicePointer(&hold_device, host, 0));
  if (timed()) blas = BlasLt::Load();  // sanitizers and profilers look at own kernels
  size_t free = 0, total = 0;
  CUDA_TRY(cudaMemGetInfo(&free, &total));
  const int64_t workspaces = blas == nullptr ? 0 : 5 * static_cast<int64_t>(kBlasWorkspaceBytes);
  const int64_t cap = BufferBytes(static_cast<int64_t>(free), HeldBytes().value_or(0), workspaces, allowed_bytes);
  if (cap < (int64_t{64} << 20)) return Fail(Code::kBusy, "only " + std::to_string(free >> 20) + " MiB are free");
  for (void*& workspace : blas_workspace) {
    if (blas != nullptr) CUDA_TRY(cudaMalloc(&workspace, kBlasWorkspaceBytes));
  }
  TRY(arena.Reserve(cap));
  return alone ? RaiseClocks() : Ok();
}

std::optional<int64_t> Gpu::HeldBytes() const {
  const std::optional<int64_t> now = used_bytes ? used_bytes() : std::nullopt;
  if (!now.has_value() || !used_before.has_value()) return std::nullopt;
  return std::max<int64_t>(0, *now - *used_before);
}

// An idle card needs some tenths of a second of work until its clocks are those of a training step.
Status Gpu::RaiseClocks() {
  const double begin = HostUs();
  while (timed() && HostUs() - begin < kRiseUs) {
    TRY(FillFloat(stream, reinterpret_cast<float*>(arena.base()), arena.size() / 4, /*seed=*/1, 1));
    CUDA_TRY(cudaStreamSynchronize(stream));
  }
  return Ok();
}

void Gpu::Close() {
  // Best effort, at the end of the process: what fails here the driver cleans up.
  cudaDeviceSynchronize();
  blas.reset();
  arena.Release();
  for (void* workspace : blas_workspace) cudaFree(workspace);
}

Status Gpu::Hold(cudaStream_t on) {
  ++hold_ticket;
  if (!timed()) Release();
  return HoldOn(on, hold_device, hold_ticket);
}

Status HoldOn(cudaStream_t stream, const int* flag, int ticket) {
  return RunKernel({stream, 1, 1}, HoldKernel, flag, ticket);
}

Status WarmUp(Gpu& gpu, const Enqueue& work) {
  TRY(work(gpu.stream));
  CUDA_TRY(cudaStreamSynchronize(gpu.stream));
  return Ok();
}

Span::~Span() {
  if (begin_ != nullptr) cudaEventDestroy(begin_);
  if (end_ != nullptr) cudaEventDestroy(end_);
}

Status Span::Record(cudaEvent_t* event, cudaStream_t stream) {
  if (*event == nullptr) CUDA_TRY(cudaEventCreate(event));
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  CUDA_TRY(cudaStreamIsCapturing(stream, &capturing));
  // In a graph it is a node of its own, whose time can be asked for after every replay.
  const bool external = capturing == cudaStreamCaptureStatusActive;
  CUDA_TRY(cudaEventRecordWithFlags(*event, stream, external ? cudaEventRecordExternal : cudaEventRecordDefault));
  return Ok();
}

Status Span::Us(double* us) const {
  float ms = 0;
  CUDA_TRY(cudaEventElapsedTime(&ms, begin_, end_));
  *us = 1e3 * static_cast<double>(ms);
  return Ok();
}

TimedGraph::~TimedGraph() {
  if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
}

Status TimedGraph::Capture(Gpu& gpu, const Enqueue& work) {
  if (graph_ != nullptr) CUDA_TRY(cudaGraphExecDestroy(graph_));
  graph_ = nullptr;
  CUDA_TRY(cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeThreadLocal));
  Status status = span_.Begin(gpu.stream);
  if (status.ok()) status = work(gpu.stream);
  if (status.ok()) status = span_.End(gpu.stream);
  cudaGraph_t graph = nullptr;  // the capture is ended whatever happened, or the stream stays unusable
  const cudaError_t ended = cudaStreamEndCapture(gpu.stream, &graph);
  if (status.ok() && ended != cudaSuccess) status = CudaFailure(ended, "cudaStreamEndCapture", __FILE__, __LINE__);
  if (status.ok()) {
    const cudaError_t made = cudaGraphInstantiate(&graph_, graph, 0);
    if (made != cudaSuccess) status = CudaFailure(made, "cudaGraphInstantiate", __FILE__, __LINE__);
  }
  if (graph != nullptr) cudaGraphDestroy(graph);
  TRY(status);
  CUDA_TRY(cudaGraphUpload(graph_, gpu.stream));
  return Ok();
}

Status TimedGraph::Launch(cudaStream_t stream) {
  CUDA_TRY(cudaGraphLaunch(graph_, stream));
  return Ok();
}

Status TimedGraph::Replay(Gpu& gpu, double* us) {
  TRY(gpu.Hold(gpu.stream));
  const Status launched = Launch(gpu.stream);
  gpu.Release();
  TRY(launched);
  CUDA_TRY(cudaStreamSynchronize(gpu.stream));
  return span_.Us(us);
}

Status TimeHeld(Gpu& gpu, const Enqueue& work, double* us) {
  Span span;
  TRY(gpu.Hold(gpu.stream));
  Status status = span.Begin(gpu.stream);
  if (status.ok()) status = work(gpu.stream);
  if (status.ok()) status = span.End(gpu.stream);
  gpu.Release();
  TRY(status);
  CUDA_TRY(cudaStreamSynchronize(gpu.stream));
  return span.Us(us);
}

void WindowExperiment::SetRow(std::string id, std::string unit, double work, std::map<std::string, double> parameters,
                              std::map<std::string, std::string> labels, std::string kind) {
  rows_ = {{std::move(id), std::move(parameters), std::move(labels), std::move(unit), work, std::move(kind)}};
}

Status WindowExperiment::Prepare() {
  gpu_.arena.Reset();
  TRY(Allocate());
  TRY(Check());
  CUDA_TRY(cudaStreamSynchronize(gpu_.stream));
  checked_ = true;
  if (gpu_.check_only && !gpu_.timed_checks) return Ok();
  const Enqueue turn = [this](cudaStream_t stream) -> Status {
    for (int set = 0; set < sets_; ++set) TRY(Launch(stream, set));
    return Ok();
  };
  for (int i = 0; i < (gpu_.once ? 3 : 1); ++i) TRY(WarmUp(gpu_, turn));
  if (gpu_.once) return Ok();
  double us = 0;  // of one turn through the sets
  TRY(TimeHeld(gpu_, turn, &us));
  operations_ = OperationsPerWindow(us / sets_, sets_);
  TRY(window_.Capture(gpu_, [this](cudaStream_t stream) -> Status {
    for (int i = 0; i < operations_; ++i) TRY(Launch(stream, i % sets_));
    return Ok();
  }));
  return window_.Replay(gpu_, &us);
}

Status WindowExperiment::Take(std::vector<double>* values) {
  double us = 0;
  TRY(window_.Replay(gpu_, &us));
  values->push_back(us / operations_);
  return Ok();
}

Absent::Absent(std::string id, std::string why) : why_(std::move(why)) {
  rows_ = {{.id = std::move(id), .parameters = {}, .labels = {}, .unit = "us"}};
  stage_ = 9;  // costs nothing, and may come last
}

double HostUs() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Status FillBf16(cudaStream_t stream, Bf16* memory, int64_t count, uint32_t seed, float scale) {
  return RunKernel({stream, FillBlocks(count), 256}, FillBf16Kernel, memory, count, seed, scale);
}

Status FillFloat(cudaStream_t stream, float* memory, int64_t count, uint32_t seed, float scale) {
  return RunKernel({stream, FillBlocks(count), 256}, FillFloatKernel, memory, count, seed, scale);
}

Status Poison(cudaStream_t stream, void* memory, int64_t bytes) {
  CUDA_TRY(cudaMemsetAsync(memory, 0xff, static_cast<size_t>(bytes), stream));
  return Ok();
}

Status Download(cudaStream_t stream, const void* device, int64_t bytes, void* host) {
  CUDA_TRY(cudaMemcpyAsync(host, device, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, stream));
  CUDA_TRY(cudaStreamSynchronize(stream));
  return Ok();
}

Status Upload(cudaStream_t stream, const void* host, int64_t bytes, void* device) {
  CUDA_TRY(cudaMemcpyAsync(device, host, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream));
  CUDA_TRY(cudaStreamSynchronize(stream));
  return Ok();
}

void Comparison::Add(double got, double want) {
  nan_ |= !std::isfinite(got);
  worst_ = std::max(worst_, std::fabs(got - want));
  difference_ += (got - want) * (got - want);
  square_ += want * want;
  ++count_;
}

Status Comparison::Verdict(const std::string& what, double tolerance) const {
  if (count_ == 0) return Fail(Code::kWithheld, what + ": nothing was compared");
  if (nan_) return Fail(Code::kWithheld, what + ": an output was not written, or is not a number");
  const double size = std::sqrt(square_ / static_cast<double>(count_));
  const double error = std::sqrt(difference_ / static_cast<double>(count_));
  if (error <= tolerance * size && worst_ <= 8 * tolerance * size) return Ok();
  return Fail(Code::kWithheld, what + " is wrong: norm error " + std::to_string(error / size) +
                                   ", worst element off by " + std::to_string(worst_) + " of about " +
                                   std::to_string(size));
}

}  // namespace flightplan::probe
