#include "probe/device/nvml.h"

#include <dlfcn.h>

#include <cstring>

namespace flightplan::probe {
namespace {

// From nvml.h, whose interface does not change: NVML_SUCCESS, NVML_ERROR_INSUFFICIENT_SIZE, clock and sensor numbers.
constexpr int kSuccess = 0, kInsufficientSize = 7;
constexpr int kClockSm = 1, kClockMemory = 2, kSensorGpu = 0;

struct Reason {
  unsigned long long bit;
  const char* name;
};
// Idleness and clocks that the owner has set (application clocks, sync boost, display) say nothing about disturbance.
constexpr Reason kReasons[] = {{0x04, "sw_power_cap"},
                               {0x08, "hw_slowdown"},
                               {0x20, "sw_thermal_slowdown"},
                               {0x40, "hw_thermal_slowdown"},
                               {0x80, "hw_power_brake_slowdown"}};

struct Utilization {  // nvmlUtilization_t
  unsigned gpu, memory;
};
struct MemoryInfo {  // nvmlMemory_v2_t
  unsigned version;
  unsigned long long total, reserved, free, used;
};
constexpr unsigned kMemoryInfoVersion = sizeof(MemoryInfo) | (2U << 24);  // NVML_STRUCT_VERSION(Memory, 2)

constexpr int kP2pNvlink = 2, kP2pOk = 0;  // NVML_P2P_CAPS_INDEX_NVLINK, NVML_P2P_STATUS_OK
constexpr unsigned kNvlinkSpeed = 90;      // NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON: of one link, megabytes a second
constexpr unsigned kMostNvlinks = 18;      // NVML_NVLINK_MAX_LINKS
constexpr int kUnsignedInt = 1;            // NVML_VALUE_TYPE_UNSIGNED_INT
struct FieldValue {                        // nvmlFieldValue_t
  unsigned field, scope;
  long long timestamp, latency_us;
  int type, result;
  union {
    double real;
    unsigned number;
    unsigned long long wide;
  } value;
};
static_assert(sizeof(FieldValue) == 40);

using Call = int (*)();
using GetUint = int (*)(void*, unsigned*);
using GetUintOf = int (*)(void*, int, unsigned*);

}  // namespace

template <class Function>
Function Nvml::Find(const char* name) const {
  return library_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library_, name));
}

Nvml::Nvml(const std::string& pci_bus_id) {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto init = Find<Call>("nvmlInit_v2");
  const auto by_bus = Find<int (*)(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
  if (init == nullptr || by_bus == nullptr || init() != kSuccess) return;
  if (by_bus(pci_bus_id.c_str(), &device_) != kSuccess) device_ = nullptr;
}

Nvml::~Nvml() {
  if (const auto shutdown = Find<Call>("nvmlShutdown"); shutdown != nullptr) shutdown();
}

std::string Nvml::DriverVersion() const {
  char text[96] = "";
  const auto get = Find<int (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
  return get != nullptr && get(text, sizeof text) == kSuccess ? text : "";
}

std::optional<int> Nvml::ComputeProcesses() const {
  const auto get = Find<int (*)(void*, unsigned*, void*)>("nvmlDeviceGetComputeRunningProcesses_v3");
  if (!available() || get == nullptr) return std::nullopt;
  unsigned count = 0;  // asked without room, it tells how many there are
  const int error = get(device_, &count, nullptr);
  if (error != kSuccess && error != kInsufficientSize) return std::nullopt;
  return static_cast<int>(count);
}

DeviceUse Nvml::Use() const {
  DeviceUse use{ComputeProcesses(), {}, {}};
  if (!available()) return use;
  Utilization rates{};
  const auto get_rates = Find<int (*)(void*, Utilization*)>("nvmlDeviceGetUtilizationRates");
  if (get_rates != nullptr && get_rates(device_, &rates) == kSuccess) use.busy_percent = static_cast<int>(rates.gpu);
  // The first version counts the driver's own reserve as used.
  MemoryInfo memory{kMemoryInfoVersion, 0, 0, 0, 0};
  const auto get_memory = Find<int (*)(void*, MemoryInfo*)>("nvmlDeviceGetMemoryInfo_v2");
  if (get_memory != nullptr && get_memory(device_, &memory) == kSuccess) {
    use.used_bytes = static_cast<int64_t>(memory.used);
  }
  return use;
}

std::optional<bool> Nvml::MigEnabled() const {
  const auto get = Find<int (*)(void*, unsigned*, unsigned*)>("nvmlDeviceGetMigMode");
  unsigned current = 0, pending = 0;
  if (!available() || get == nullptr || get(device_, &current, &pending) != kSuccess) return std::nullopt;
  return current != 0;
}

std::optional<bool> Nvml::HasNvlinkTo(const Nvml& peer) const {
  const auto get = Find<int (*)(void*, void*, int, int*)>("nvmlDeviceGetP2PStatus");
  int status = 0;
  if (!available() || !peer.available() || get == nullptr ||
      get(device_, peer.device_, kP2pNvlink, &status) != kSuccess)
    return std::nullopt;
  return status == kP2pOk;
}

std::optional<double> Nvml::NvlinkBytesPerSecond() const {
  const auto state = Find<int (*)(void*, unsigned, unsigned*)>("nvmlDeviceGetNvLinkState");
  const auto get = Find<int (*)(void*, int, FieldValue*)>("nvmlDeviceGetFieldValues");
  if (!available() || state == nullptr || get == nullptr) return std::nullopt;
  int up = 0;
  for (unsigned link = 0; link < kMostNvlinks; ++link) {
    unsigned active = 0;
    up += state(device_, link, &active) == kSuccess && active == 1 ? 1 : 0;
  }
  if (up == 0) return 0.0;
  FieldValue speed{};
  speed.field = kNvlinkSpeed;
  if (get(device_, 1, &speed) != kSuccess || speed.result != kSuccess || speed.type != kUnsignedInt ||
      speed.value.number == 0) {
    return std::nullopt;
  }
  return 1e6 * up * speed.value.number;
}

DeviceState Nvml::State() const {
  DeviceState state;
  if (!available()) return state;
  unsigned value = 0;
  const auto clock = Find<GetUintOf>("nvmlDeviceGetClockInfo");
  if (clock != nullptr && clock(device_, kClockSm, &value) == kSuccess) state.sm_clock_mhz = static_cast<int>(value);
  if (clock != nullptr && clock(device_, kClockMemory, &value) == kSuccess) {
    state.memory_clock_mhz = static_cast<int>(value);
  }
  const auto power = Find<GetUint>("nvmlDeviceGetPowerUsage"), limit = Find<GetUint>("nvmlDeviceGetEnforcedPowerLimit");
  if (power != nullptr && power(device_, &value) == kSuccess) state.power_watts = value / 1e3;
  if (limit != nullptr && limit(device_, &value) == kSuccess) state.power_limit_watts = value / 1e3;
  const auto heat = Find<GetUintOf>("nvmlDeviceGetTemperature");
  if (heat != nullptr && heat(device_, kSensorGpu, &value) == kSuccess) {
    state.temperature_celsius = static_cast<int>(value);
  }
  unsigned long long bits = 0;
  const auto reasons = Find<int (*)(void*, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons");
  if (reasons != nullptr && reasons(device_, &bits) == kSuccess) {
    for (const Reason& reason : kReasons) {
      if ((bits & reason.bit) != 0) state.throttle_reasons.emplace_back(reason.name);
    }
  }
  return state;
}

}  // namespace flightplan::probe
