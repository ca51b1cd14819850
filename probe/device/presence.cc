#include "probe/device/presence.h"

#include <dlfcn.h>

namespace flightplan::probe {

Status FindGpu() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return Fail(Code::kNoGpu, "no NVIDIA driver on this node (libcuda.so.1 is not there)");
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count_devices = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  const auto error_text = reinterpret_cast<int (*)(int, const char**)>(dlsym(driver, "cuGetErrorString"));
  if (init == nullptr || count_devices == nullptr) return Fail(Code::kNoGpu, "libcuda.so.1 is no CUDA driver");
  int count = 0, error = init(0);
  if (error == 0) error = count_devices(&count);
  if (error == 0 && count > 0) return Ok();
  const char* text = "no device is visible";
  if (error != 0 && error_text != nullptr) error_text(error, &text);
  return Fail(Code::kNoGpu, std::string("no NVIDIA GPU: ") + text);
}

}  // namespace flightplan::probe
