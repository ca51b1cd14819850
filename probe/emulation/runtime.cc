// Streams, graphs, events and memory of the emulated device.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "probe/device/libraries.h"
#include "probe/emulation/cuda_runtime.h"
#include "probe/emulation/run_blocks.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(memory, bytes)
#endif

using Work = std::function<void()>;

struct EmulatedStream {
  int priority = 0;
};
struct EmulatedEvent {
  bool timed = true;
  double us = -1;  // not recorded
};
struct EmulatedGraph {
  std::vector<Work> nodes;
};

namespace {

constexpr size_t kFreeBytes = size_t{1} << 30;  // so that a quarter of it is the cap
constexpr unsigned char kMargin = 0xa5;

std::deque<Work> queued;  // of all streams: events only ever point backwards
EmulatedGraph* capturing = nullptr;
std::map<char*, int64_t> handed_out;

cudaError_t Queue(Work work) {
  if (capturing != nullptr) {
    capturing->nodes.push_back(std::move(work));
  } else {
    queued.push_back(std::move(work));
  }
  return cudaSuccess;
}

cudaError_t Drain() {
  if (capturing != nullptr) emulation::Fault("a synchronisation while a stream is captured");
  while (!queued.empty()) {
    const Work work = std::move(queued.front());
    queued.pop_front();
    work();
  }
  return cudaSuccess;
}

double NowUs() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorInvalidValue";
}
const char* cudaGetErrorString(cudaError_t) { return "emulated"; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaInitDevice(int, unsigned, unsigned) { return cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = 40;  // enough for an exchange on 20 beside something
      break;
    case cudaDevAttrL2CacheSize:
      *value = 256 << 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(emulation::kSharedBytesPerBlock);
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    case cudaDevAttrCooperativeLaunch:
      *value = 1;
      break;
  }
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return Drain(); }
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = *total = kFreeBytes;
  return cudaSuccess;
}

cudaError_t EmulatedMalloc(void** memory, size_t bytes) {
  *memory = std::aligned_alloc(1024, (bytes + 1023) / 1024 * 1024);
  return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t EmulatedHostAlloc(void** memory, size_t bytes) { return EmulatedMalloc(memory, bytes); }
cudaError_t cudaFree(void* memory) {
  Drain();
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
  return Queue([=] { std::memcpy(to, from, bytes); });
}
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t) {
  return Queue([=] { std::memset(memory, value, bytes); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new EmulatedStream;  // as long as the process, like a device's
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int priority) {
  *stream = new EmulatedStream{priority};
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return Drain(); }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = capturing != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  if (capturing != nullptr) emulation::Fault("a capture within a capture");
  capturing = new EmulatedGraph;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = std::exchange(capturing, nullptr);
  return *graph != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned) {
  *exec = new EmulatedGraph(*graph);
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t) {
  return Queue([exec] {
    for (const Work& node : exec->nodes) node();
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  Drain();
  delete exec;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new EmulatedEvent;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new EmulatedEvent{(flags & cudaEventDisableTiming) == 0};
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (capturing == nullptr) Drain();
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  return Queue([event] { event->us = NowUs(); });
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return Drain(); }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  if (begin->us < 0 || end->us < 0 || !begin->timed || !end->timed) return cudaErrorInvalidValue;
  *ms = static_cast<float>((end->us - begin->us) / 1e3);
  return cudaSuccess;
}

namespace emulation {

void Launch(cudaStream_t, dim3 blocks, dim3 threads, size_t shared_bytes, std::function<void()> kernel) {
  Queue([=] { RunBlocks(blocks, threads, shared_bytes, kernel); });
}

void HandOut(void* memory, int64_t bytes) {
  const size_t size = static_cast<size_t>(bytes);
  char* begin = static_cast<char*>(memory);
  ASAN_UNPOISON_MEMORY_REGION(begin, size + kMarginBytes);
  std::memset(begin, 0xff, size);  // not a number, until something is written
  std::memset(begin + size, kMargin, kMarginBytes);
  ASAN_POISON_MEMORY_REGION(begin + (size + 7) / 8 * 8, kMarginBytes - 8);
  handed_out[begin] = bytes;
}

void TakeBack(const void* slab, int64_t bytes) {
  Drain();
  const char* end = static_cast<const char*>(slab) + bytes;
  for (auto at = handed_out.begin(); at != handed_out.end();) {
    const auto [begin, size] = *at;
    if (begin < slab || begin >= end) {
      ++at;
      continue;
    }
    ASAN_UNPOISON_MEMORY_REGION(begin + size, kMarginBytes);
    for (int64_t i = 0; i < kMarginBytes; ++i) {
      if (static_cast<unsigned char>(begin[size + i]) != kMargin) Fault("a write behind a buffer");
    }
    at = handed_out.erase(at);
  }
}

}  // namespace emulation

namespace flightplan::probe {

// cuBLASLt needs a device.
std::unique_ptr<BlasLt> BlasLt::Load() { return nullptr; }

}  // namespace flightplan::probe
