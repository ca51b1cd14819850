// The emulated device itself, its memory, and what may be copied where.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "probe/device/libraries.h"
#include "probe/emulation/queues.h"
#include "probe/emulation/run_blocks.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(memory, bytes)
#endif

namespace {

constexpr size_t kFreeBytes = size_t{1} << 30;  // so that a quarter of it is the cap
constexpr unsigned char kMargin = 0xa5;
constexpr int kSharedBytesUnasked = 48 << 10;  // without the attribute

struct Allocation {
  size_t bytes = 0;
  int device = -1;  // -1: of the host
};
std::map<const char*, Allocation> allocations;
std::map<char*, int64_t> handed_out;
std::map<std::pair<int, const void*>, int> most_shared_bytes;  // of kernels whose attribute was set on a device
int current_device = 0;
std::set<std::pair<int, int>> enabled_peers;  // a device, and whose memory it may reach

cudaError_t Allocate(void** memory, size_t bytes, int device) {
  *memory = std::aligned_alloc(1024, (bytes + 1023) / 1024 * 1024);
  if (*memory == nullptr) return cudaErrorMemoryAllocation;
  allocations[static_cast<const char*>(*memory)] = {bytes, device};
  return cudaSuccess;
}

// The device on which all of it lies, from `memory` on, within one allocation; -1: none.
int DeviceOfAll(const void* memory, size_t bytes) {
  const char* at = static_cast<const char*>(memory);
  auto next = allocations.upper_bound(at);
  if (next == allocations.begin()) return -1;
  const auto& [begin, allocation] = *--next;
  return at + bytes <= begin + allocation.bytes ? allocation.device : -1;
}
bool OnDevice(const void* memory, size_t bytes) { return DeviceOfAll(memory, bytes) >= 0; }

// A pointer of the other side, or one that reaches beyond its allocation.
bool MayCopy(const void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return OnDevice(to, bytes) == (kind != cudaMemcpyDeviceToHost) &&
         OnDevice(from, bytes) == (kind != cudaMemcpyHostToDevice);
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorMemoryAllocation           ? "cudaErrorMemoryAllocation"
         : error == cudaErrorNotReady                 ? "cudaErrorNotReady"
         : error == cudaErrorInvalidDevice            ? "cudaErrorInvalidDevice"
         : error == cudaErrorInvalidResourceHandle    ? "cudaErrorInvalidResourceHandle"
         : error == cudaErrorPeerAccessAlreadyEnabled ? "cudaErrorPeerAccessAlreadyEnabled"
                                                      : "cudaErrorInvalidValue";
}
const char* cudaGetErrorString(cudaError_t) { return "emulated"; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return device >= 0 && device < emulation::kDevices ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= emulation::kDevices) return cudaErrorInvalidDevice;
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  if (peer < 0 || peer >= emulation::kDevices || peer == current_device) return cudaErrorInvalidDevice;
  if (flags != 0) return cudaErrorInvalidValue;
  return enabled_peers.emplace(current_device, peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = emulation::kSmCount;
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
    case cudaDevAttrClockRate:
      *value = 1'000'000;  // kHz
      break;
  }
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = *total = kFreeBytes;
  return cudaSuccess;
}

cudaError_t EmulatedMalloc(void** memory, size_t bytes) { return Allocate(memory, bytes, current_device); }
cudaError_t EmulatedHostAlloc(void** memory, size_t bytes) { return Allocate(memory, bytes, /*device=*/-1); }
cudaError_t cudaFree(void* memory) {
  emulation::Drain();
  allocations.erase(static_cast<const char*>(memory));
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (!MayCopy(to, from, bytes, kind)) return cudaErrorInvalidValue;
  return emulation::Queue(stream, [=] { std::memcpy(to, from, bytes); });
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream) {
  if (DeviceOfAll(to, bytes) != to_device || DeviceOfAll(from, bytes) != from_device) return cudaErrorInvalidValue;
  return emulation::Queue(stream, [=] { std::memcpy(to, from, bytes); });
}
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  if (!OnDevice(memory, bytes)) return cudaErrorInvalidValue;
  return emulation::Queue(stream, [=] { std::memset(memory, value, bytes); });
}

cudaError_t EmulatedFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
      value > static_cast<int>(emulation::kSharedBytesPerBlock)) {
    return cudaErrorInvalidValue;
  }
  most_shared_bytes[{current_device, kernel}] = value;
  return cudaSuccess;
}

namespace emulation {

int MostSharedBytes(const void* kernel) {
  if (kernel == nullptr) return static_cast<int>(kSharedBytesPerBlock);  // a lambda of a test
  const auto found = most_shared_bytes.find({current_device, kernel});
  return found == most_shared_bytes.end() ? kSharedBytesUnasked : std::max(kSharedBytesUnasked, found->second);
}

int CurrentDevice() { return current_device; }
int DeviceOf(const void* memory) { return DeviceOfAll(memory, 1); }
bool Reaches(int device, int peer) { return device == peer || enabled_peers.contains({device, peer}); }
void MustReach(const void* memory) {
  const int device = DeviceOf(memory);
  if (device < 0 || !Reaches(RunningDevice(), device)) Fault("memory of a peer that the device may not reach");
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
