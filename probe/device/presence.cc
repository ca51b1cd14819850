#include "probe/device/presence.h"

#include <dlfcn.h>

namespace flightplan::probe {
namespace {

// An idle display server or a daemon shows a per cent or two; a framework that waits holds its context and weights.
constexpr int kIdlePercent = 5;
constexpr int64_t kIdleBytes = int64_t{1} << 30;

}  // namespace

std::string CudaVersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version / 10 % 100);
}

Status DriverFits(int driver, int cuda_runtime) {
  if (driver / 1000 >= cuda_runtime / 1000) return Ok();
  // Release notes of the CUDA toolkit, table "CUDA Toolkit and Minimum Required Driver Version".
  const char* needs = cuda_runtime / 1000 >= 13 ? "R580" : "R525";
  return Fail(Code::kUnsupported, "the driver supports CUDA " + CudaVersionText(driver) +
                                      " and this flightplan-probe needs " + CudaVersionText(cuda_runtime) +
                                      ": install driver " + needs +
                                      " or newer, or build the probe with the CUDA toolkit of that driver");
}

Status FindGpu(int cuda_runtime) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return Fail(Code::kNoGpu, "no NVIDIA driver on this node (libcuda.so.1 is not there)");
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count_devices = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  const auto error_text = reinterpret_cast<int (*)(int, const char**)>(dlsym(driver, "cuGetErrorString"));
  const auto get_version = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  if (init == nullptr || count_devices == nullptr) return Fail(Code::kNoGpu, "libcuda.so.1 is no CUDA driver");
  int count = 0, error = init(0);
  if (error == 0) error = count_devices(&count);
  if (error == 0 && count > 0) {
    int version = 0;
    if (get_version == nullptr || get_version(&version) != 0) return Ok();
    return DriverFits(version, cuda_runtime);
  }
  const char* text = "no device is visible";
  if (error != 0 && error_text != nullptr) error_text(error, &text);
  return Fail(Code::kNoGpu, std::string("no NVIDIA GPU: ") + text);
}

std::string DescribeUse(const DeviceUse& use) {
  if (const int count = use.processes.value_or(0); count > 0) {
    return "is used by " + std::to_string(count) + (count == 1 ? " other process" : " other processes");
  }
  if (const int percent = use.busy_percent.value_or(0); percent > kIdlePercent) {
    return "is " + std::to_string(percent) + " % busy, by a process that cannot be seen from here";
  }
  if (const int64_t bytes = use.used_bytes.value_or(0); bytes > kIdleBytes) {
    return "has " + std::to_string(bytes >> 20) + " MiB of its memory held by a process that cannot be seen from here";
  }
  return "";
}

}  // namespace flightplan::probe
