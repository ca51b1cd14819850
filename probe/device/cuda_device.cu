#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <thread>
#include <utility>

#include "probe/device/cuda_device.h"
#include "probe/device/lock.h"
#include "probe/device/numa.h"
#include "probe/device/nvml.h"
#include "probe/device/presence.h"
#include "probe/kernels/gpu.cuh"
#include "probe/kernels/team.cuh"
#include "probe/method/statistics.h"

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

Status NoSuchDevice(const char* option, int index, int count) {
  return Fail(Code::kNoGpu, std::string(option) + " " + std::to_string(index) + ": this node has " +
                                std::to_string(count) + (count == 1 ? " GPU" : " GPUs, counted from 0"));
}

class CudaDevice : public Device {
 public:
  ~CudaDevice() override {
    if (opened_) gpu_.Close();
  }

  // Questions come before the context: a device that is not ours is left untouched.
  // `alone`: not in a team, whose devices are brought to their clocks together. `first`: launches and pinned memory are
  // this device's.
  Status Open(int index, const CudaRequest& request, bool alone, bool first) {
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
    gpu_.shape = request.check_only ? CheckShape() : request.shape;
    gpu_.allowed_bytes = int64_t{request.memory_mib} << 20;
    gpu_.used_bytes = [nvml = nvml_.get()] { return nvml->Use().used_bytes; };
    gpu_.used_before = gpu_.used_bytes();
    if (const std::optional<int> node = NumaNodeOf(bus); node.has_value() && first) numa_note_ = BindToNode(*node);
    gpu_.nvlink_bytes_per_second = nvml_->NvlinkBytesPerSecond();
    TRY(gpu_.Open(index, alone));
    own_processes_ = nvml_->ComputeProcesses().value_or(0);
    return Ok();
  }

  Gpu& gpu() { return gpu_; }
  const Nvml& nvml() const { return *nvml_; }

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
                                      " MiB of device memory for buffers, used " +
                                      std::to_string(gpu_.arena.peak() >> 20) + " MiB at once"};
    if (const std::optional<int64_t> held = gpu_.HeldBytes(); held.has_value()) {
      notes.front() += "; " + std::to_string(*held >> 20) + " MiB in all, with the driver's context and libraries";
    } else {
      notes.front() += "; NVML does not tell what the driver's context holds on top";
    }
    notes.push_back("the layer: " + Describe(gpu_.shape));
    if (!numa_note_.empty()) notes.push_back(numa_note_);
    if (!nvml_->available()) notes.push_back("NVML is absent: clocks, throttling and other processes were not watched");
    if (gpu_.nvlink_bytes_per_second == 0.0) {
      notes.push_back("NVML sees no NVLink that is up: paced exchanges run at what a link of this generation gives");
    }
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
  std::string numa_note_;
  int own_processes_ = 0;  // what NVML counts while only we are there; 0 where it does not see into this container
};

// All devices of one exchange. What one device can measure is measured on the first.
class CudaTeam : public Device {
 public:
  Status Open(const std::vector<int>& indices, const CudaRequest& request) {
    for (const int index : indices) {
      TRY(members_.emplace_back(std::make_unique<CudaDevice>())
              ->Open(index, request, /*alone=*/false, index == indices.front()));
      const DeviceInfo first = members_.front()->Info(), info = members_.back()->Info();
      if (info.name == first.name && info.sm_count == first.sm_count) continue;
      return Fail(Code::kUnsupported, "devices " + std::to_string(first.index) + " (" + first.name + ") and " +
                                          std::to_string(index) + " (" + info.name +
                                          ") are of different types: name those of one type");
    }
    std::vector<Gpu*> gpus;
    for (const auto& member : members_) gpus.push_back(&member->gpu());
    TRY(team_.Open(gpus, Link()));
    return team_.RaiseClocks();
  }

  bool CheckOnly() const override { return members_.front()->CheckOnly(); }
  DeviceInfo Info() override { return members_.front()->Info(); }
  std::string CudaVersion() override { return members_.front()->CudaVersion(); }

  Status Recover() override {
    for (const auto& member : members_) {
      CUDA_TRY(cudaSetDevice(member->gpu().index));
      TRY(member->Recover());
    }
    CUDA_TRY(cudaSetDevice(members_.front()->gpu().index));
    const Status ignored = team_.AllCame();  // forgets who was late
    return ignored.ok() ? ignored : team_.AllCame();
  }

  // The worst of all: what disturbs one disturbs an exchange.
  DeviceState State() override {
    std::vector<DeviceState> states;
    for (const auto& member : members_) states.push_back(member->State());
    return WorstOf(states);
  }

  std::vector<std::unique_ptr<Experiment>> Experiments(const std::string& group) override {
    std::vector<std::unique_ptr<Experiment>> all = members_.front()->Experiments(group);
    std::vector<std::unique_ptr<Experiment>> between;
    if (group == "exchange") between = TeamExchangeExperiments(team_);
    if (group == "overlap") between = TeamOverlapExperiments(team_);
    // Of one stage what is between devices comes first: nothing else can measure it.
    between.insert(between.end(), std::make_move_iterator(all.begin()), std::make_move_iterator(all.end()));
    return between;
  }

  std::vector<std::string> Notes() override {
    std::string indices, uuids;
    for (const auto& member : members_) {
      indices += (indices.empty() ? "" : ", ") + std::to_string(member->gpu().index);
      uuids += (uuids.empty() ? "" : ", ") + member->Info().uuid;
    }
    std::vector<std::string> notes = members_.front()->Notes();
    notes.push_back("exchanges between devices " + indices + " of one node (" + uuids + "), joined by " +
                    (team_.link() == "nvlink" ? "NVLink"
                     : team_.link() == "pcie" ? "PCIe"
                                              : "what NVML does not tell"));
    if (team_.nccl() != nullptr) notes.push_back("NCCL " + NcclVersionText(team_.nccl()->version()));
    const std::vector<std::string> settings = NcclSettings(environ);
    std::string names;
    for (const std::string& name : settings) names += (names.empty() ? "" : ", ") + name;
    if (team_.nccl() != nullptr && !names.empty()) notes.push_back("NCCL ran with the settings in force: " + names);
    return notes;
  }

 private:
  // NVLink only where it joins every pair.
  std::string Link() const {
    bool told = true, nvlink = true;
    for (const auto& one : members_) {
      for (const auto& other : members_) {
        if (one == other) continue;
        const std::optional<bool> joined = one->nvml().HasNvlinkTo(other->nvml());
        told = told && joined.has_value();
        nvlink = nvlink && joined.value_or(false);
      }
    }
    return !told ? "unknown" : nvlink ? "nvlink" : "pcie";
  }

  std::vector<std::unique_ptr<CudaDevice>> members_;
  Team team_;  // goes before its members
};

Status OpenTeam(const CudaRequest& request, int count, std::unique_ptr<Device>* device) {
  std::vector<int> indices = request.team;
  for (int index = 0; request.all && index < count; ++index) indices.push_back(index);
  if (indices.size() < 2) return Fail(Code::kNoGpu, "--devices: needs two GPUs, this node has one");
  for (const int index : indices) {
    if (index >= count) return NoSuchDevice("--devices", index, count);
  }
  auto team = std::make_unique<CudaTeam>();
  TRY(team->Open(indices, request));
  *device = std::move(team);
  return Ok();
}

}  // namespace

Status OpenCudaDevice(const CudaRequest& request, std::unique_ptr<Device>* device) {
  TRY(FindGpu(CUDART_VERSION));
  int count = 0;
  CUDA_TRY(cudaGetDeviceCount(&count));
  if (request.all || !request.team.empty()) return OpenTeam(request, count, device);
  if (request.index >= count) return NoSuchDevice("--device", request.index, count);
  Status first = Ok();
  for (int index = std::max(request.index, 0); index < (request.index < 0 ? count : request.index + 1); ++index) {
    auto opened = std::make_unique<CudaDevice>();
    const Status status = opened->Open(index, request, /*alone=*/true, /*first=*/true);
    if (status.ok()) {
      *device = std::move(opened);
      return Ok();
    }
    if (first.ok()) first = status;
  }
  return first;
}

}  // namespace flightplan::probe
