// The part of CUDA that the probe's kernels and experiments are written in, on a CPU: so that tests run every kernel,
// with its own index arithmetic, barriers and warp operations, where there is no GPU. Found instead of NVIDIA's header
// by include path. It says whether results are right; it says nothing about time, and no profile can come of it.
//
// Work is queued on streams and runs at the next synchronisation, in a drawn order that events and streams allow
// (streams.cc). The threads of a block are fibres that give way at barriers and warp operations (threads.cc). Blocks
// run one after the other, but for those that reach their peers' memory: these are held here and there while others of
// their launch come onto the chip and other kernels go on (blocks.cc). Whatever the hardware leaves open goes against
// the code: copies land late, or at once, or at some poll; matrix instructions compute after everyone else had a turn.
// Several devices run in a drawn order, too, and kernels may wait for each other half-way; a store to a peer's memory
// arrives when it is fenced, and else with the end of the kernel. probe/emulation/mutations.py holds that it notices.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)
#define __shared__ static  // one block at a time

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  explicit dim3(unsigned width) : x(width) {}
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

// ---- Host side. Every function returns cudaSuccess or says at once on standard error what was wrong, and ends.

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorPeerAccessAlreadyEnabled = 704,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone = 0, cudaStreamCaptureStatusActive = 1 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrL2CacheSize,
  cudaDevAttrMaxSharedMemoryPerBlockOptin,
  cudaDevAttrComputeCapabilityMajor,
  cudaDevAttrCooperativeLaunch,
  cudaDevAttrClockRate,
};
inline constexpr unsigned cudaDeviceScheduleBlockingSync = 4, cudaInitDeviceFlagsAreValid = 1;
inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;
inline constexpr unsigned cudaEventRecordDefault = 0, cudaEventRecordExternal = 1;
inline constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2;

struct EmulatedStream;
struct EmulatedEvent;
struct EmulatedGraph;
using cudaStream_t = EmulatedStream*;
using cudaEvent_t = EmulatedEvent*;
using cudaGraph_t = EmulatedGraph*;
using cudaGraphExec_t = EmulatedGraph*;

const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaInitDevice(int device, unsigned flags, unsigned how);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);

cudaError_t EmulatedMalloc(void** memory, size_t bytes);
cudaError_t EmulatedHostAlloc(void** memory, size_t bytes);
template <class T>
cudaError_t cudaMalloc(T** memory, size_t bytes) {
  return EmulatedMalloc(reinterpret_cast<void**>(memory), bytes);
}
template <class T>
cudaError_t cudaHostAlloc(T** memory, size_t bytes, unsigned) {
  return EmulatedHostAlloc(reinterpret_cast<void**>(memory), bytes);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned) {
  *device = static_cast<T*>(host);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned flags);
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags);
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end);

cudaError_t EmulatedFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel kernel, cudaFuncAttribute attribute, int value) {
  return EmulatedFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

namespace emulation {

struct LaunchedKernel {
  cudaStream_t stream = nullptr;
  dim3 blocks{1}, threads{1};
  size_t shared_bytes = 0;
  bool cooperative = false;
  const void* kernel = nullptr;  // whose attributes hold; null: a test's own
};
cudaError_t Launch(const LaunchedKernel& launched, std::function<void()> kernel);

// In which order the threads of a block get their turns: a result that depends on it is a race. Shuffled, blocks come
// in any order, too, and asynchronous copies may land as soon as they are started.
enum class Order { kForward, kBackward, kShuffled };
void SetOrder(Order order);
// Of everything that is drawn.
void SetSeed(unsigned seed);
// Kernels are queued and passed, but do nothing: for tests of what waits for what.
void SetQueuesAlone(bool alone);

// Says so in the trace when the stream has come by it.
void Mark(cudaStream_t stream, std::string what);
std::vector<std::string> TakeTrace();

// Memory that an arena hands out is followed by a margin. TakeBack ends the program if a margin was written to; with
// AddressSanitizer reading it is a fault too.
inline constexpr int64_t kMarginBytes = 256;
void HandOut(void* memory, int64_t bytes);
void TakeBack(const void* slab, int64_t bytes);

// ---- What a thread of a kernel sees.

[[noreturn]] void Fault(const char* what);
void* SharedMemory();  // the dynamic part
// Gives way; returns when every thread of the block has come to a barrier.
void Barrier();
// Gives way to other threads; for loops that poll.
void Pause();
// The same, and to other kernels, of this device or of others, for what one of them has to do.
void WaitForOther();
// A point at which the hardware may delay the block for long, while others of its launch, other kernels and other
// devices go on: whatever it has told until here, they may act on before it does anything more. For kernels without
// static shared memory.
void MayBeHeld();
// A store to memory that may be a peer's: arrives with the thread's next FenceSystem, or else when the kernel ends.
void StoreToPeer(std::function<void()> store);
void FenceSystem();
// Ends the program unless the running device may reach the memory.
void MustReach(const void* memory);
// The devices' clock: a poll takes a microsecond, nothing else takes any time. So no deadline of a kernel depends on
// how busy this machine is.
uint64_t NowNs();
// The lanes of a warp meet: each brings `bytes` (64 at most) and sees what all brought, until their next meeting.
const unsigned char (*Meet(const void* mine, size_t bytes))[64];
int Lane();
// Something that the thread has started and will wait for; `Settle` runs all but the last `pending` groups of it.
void Defer(std::function<void()> work);
void CloseGroup();
void Settle(size_t pending);
// The same for matrix instructions, which are waited for on their own. They may read
// nothing that cp.async has written, for want of a fence, and are begun anew for every group.
void BeginMatrices();
void DeferMatrices(std::function<void()> work);
void CloseMatrices();
void SettleMatrices(size_t pending);
// A copy by the bulk engine: done at some later poll of any thread of the block.
void LandLater(std::function<void()> work);
// Barriers that this thread has set up and not yet shown to others; maps that it has looked at anew.
void SetUp(uint64_t* barrier);
std::vector<uint64_t*> TakeSetUp();
void Acquire(const void* map);
bool HasAcquired(const void* map);

template <class T>
T FromLane(const unsigned char (*all)[64], int lane) {
  T value;
  std::memcpy(&value, all[lane], sizeof value);
  return value;
}

}  // namespace emulation

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

inline void __syncthreads() { emulation::Barrier(); }
inline void __nanosleep(unsigned) { emulation::Pause(); }
inline void __syncwarp() {
  const int nothing = 0;
  emulation::Meet(&nothing, sizeof nothing);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int with) {
  if (mask != ~0u) emulation::Fault("a shuffle of part of a warp");
  return emulation::FromLane<T>(emulation::Meet(&value, sizeof value), emulation::Lane() ^ with);
}
template <class T>
T __shfl_sync(unsigned mask, T value, int from) {
  if (mask != ~0u) emulation::Fault("a shuffle of part of a warp");
  return emulation::FromLane<T>(emulation::Meet(&value, sizeof value), from & 31);
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value) {
  if (mask != ~0u) emulation::Fault("a reduction over part of a warp");
  const auto all = emulation::Meet(&value, sizeof value);
  unsigned folded = 0;
  for (int lane = 0; lane < 32; ++lane) folded ^= emulation::FromLane<unsigned>(all, lane);
  return folded;
}
inline int __popc(unsigned bits) { return std::popcount(bits); }
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
void __stcs(T* to, T value) {
  *to = value;
}
template <class T>
T atomicAdd(T* at, T value) {
  const T old = *at;
  *at = old + value;
  return old;
}
template <class T>
T atomicOr(T* at, T value) {
  const T old = *at;
  *at = old | value;
  return old;
}
template <class T>
T atomicXor(T* at, T value) {
  const T old = *at;
  *at = old ^ value;
  return old;
}
template <class T>
T atomicMin(T* at, T value) {
  const T old = *at;
  *at = std::min(old, value);
  return old;
}
template <class T>
T atomicMax(T* at, T value) {
  const T old = *at;
  *at = std::max(old, value);
  return old;
}
inline float __expf(float x) { return std::exp(x); }
inline float __fdividef(float x, float y) { return x / y; }

inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
long long clock64();
using std::max;
using std::min;
