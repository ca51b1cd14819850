#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "probe/device/cuda_device.h"
#include "probe/device/lock.h"
#include "probe/device/nvml.h"
#include "probe/device/presence.h"
#include "probe/kernels/gpu.cuh"

namespace flightplan::probe {
namespace {

std::string UuidText(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char hex[4];
    std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hex;
  }
  return text;
}

class CudaDevice : public Device {
 public:
  ~CudaDevice() override {
    if (opened_) gpu_.Close();
  }

  // Questions come before the context: a device that is not ours is left untouched.
  Status Open(int index, const CudaRequest& request) {
    cudaDeviceProp properties;
    CUDA_TRY(cudaGetDeviceProperties(&properties, index));
    char bus[32] = "";
    CUDA_TRY(cudaDeviceGetPCIBusId(bus, sizeof bus, index));
    nvml_ = std::make_unique<Nvml>(bus);
    info_.index = index;
    info_.name = properties.name;
    info_.uuid = UuidText(properties.uuid);
    info_.sm_count = properties.multiProcessorCount;
    info_.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
    info_.l2_bytes = properties.l2CacheSize;
    int driver = 0;
    CUDA_TRY(cudaDriverGetVersion(&driver));
    info_.driver_version = nvml_->DriverVersion().empty() ? "CUDA " + CudaVersionText(driver) : nvml_->DriverVersion();
    TRY(Ours(index, properties));
    TRY(lock_.Take(request.lock_directory, info_.uuid));
    if (const std::string use = UseByOthers(); !use.empty()) return Fail(Code::kBusy, Here() + " " + use);
    opened_ = true;
    gpu_.check_only = request.check_only;
    gpu_.once = request.once;
    if (request.check_only) gpu_.shape = CheckShape();
    TRY(gpu_.Open(index));
    own_processes_ = nvml_->ComputeProcesses().value_or(0);
    return Ok();
  }

  bool CheckOnly() const override { return !gpu_.timed(); }
  DeviceInfo Info() override { return info_; }
  std::string CudaVersion() override { return CudaVersionText(CUDART_VERSION); }

  Status Recover() override {
    cudaGetLastError();                 // a launch that failed is remembered until somebody asks
    CUDA_TRY(cudaDeviceSynchronize());  // what ended the context is told by every call after it
    return Ok();
  }

  DeviceState State() override {
    DeviceState state = nvml_->State();
    state.foreign_process_count = std::max(0, nvml_->ComputeProcesses().value_or(own_processes_) - own_processes_);
    return state;
  }

  std::vector<std::unique_ptr<Experiment>> Experiments(const std::string& group) override {
    for (const ExperimentGroup& each : kExperimentGroups) {
      if (group == each.name) return each.make(gpu_);
    }
    return {};
  }

  std::vector<std::string> Notes() override {
    std::vector<std::string> notes = {"held " + std::to_string(gpu_.arena.size() >> 20) +
                                      " MiB of device memory, used " + std::to_string(gpu_.arena.peak() >> 20) +
                                      " MiB at once"};
    if (!nvml_->available()) notes.push_back("NVML is absent: clocks, throttling and other processes were not watched");
    if (gpu_.blas == nullptr) {
      notes.push_back("cuBLASLt is absent: GEMM rows are of the own kernel");
    } else {
      notes.push_back("cuBLASLt " + std::to_string(gpu_.blas->Version()));
    }
    return notes;
  }

 private:
  std::string Here() const { return "device " + std::to_string(info_.index) + " (" + info_.name + ")"; }

  // Why the device is not free, or empty. A process that has just ended may be seen for a moment longer; a rate of use
  // is of the last second.
  std::string UseByOthers() const {
    std::string use;
    for (int tries = 0; tries < 12; ++tries) {
      if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      use = DescribeUse(nvml_->Use());
      if (use.empty()) break;
    }
    return use;
  }

  Status Ours(int index, const cudaDeviceProp& properties) {
    int mode = cudaComputeModeDefault;
    CUDA_TRY(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, index));
    if (mode != cudaComputeModeDefault)
      return Fail(Code::kNotOurs, Here() + " is in exclusive or prohibited compute mode");
    if (nvml_->MigEnabled().value_or(false)) return Fail(Code::kNotOurs, Here() + " is split by MIG");
    if (properties.major >= 8) return Ok();
    return Fail(Code::kUnsupported, Here() + " is older than compute capability 8.0");
  }

  Gpu gpu_;
  std::unique_ptr<Nvml> nvml_;
  DeviceLock lock_;
  DeviceInfo info_;
  bool opened_ = false;
  int own_processes_ = 0;  // what NVML counts while only we are there; 0 where it does not see into this container
};

}  // namespace

Status OpenCudaDevice(const CudaRequest& request, std::unique_ptr<Device>* device) {
  TRY(FindGpu(CUDART_VERSION));
  int count = 0;
  CUDA_TRY(cudaGetDeviceCount(&count));
  if (request.index >= count) {
    return Fail(Code::kNoGpu, "--device " + std::to_string(request.index) + ": this node has " + std::to_string(count) +
                                  (count == 1 ? " GPU" : " GPUs, counted from 0"));
  }
  Status first = Ok();
  for (int index = std::max(request.index, 0); index < (request.index < 0 ? count : request.index + 1); ++index) {
    auto opened = std::make_unique<CudaDevice>();
    const Status status = opened->Open(index, request);
    if (status.ok()) {
      *device = std::move(opened);
      return Ok();
    }
    if (first.ok()) first = status;
  }
  return first;
}

}  // namespace flightplan::probe
