// The management library, loaded at run time. Everything it does not tell stays at its "not told" value.
#pragma once

#include <optional>
#include <string>

#include "probe/device/presence.h"
#include "probe/row.h"

namespace flightplan::probe {

class Nvml {
 public:
  // `pci_bus_id`: "0000:3b:00.0". Where the library or the device is missing, every question stays unanswered.
  explicit Nvml(const std::string& pci_bus_id);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool available() const { return device_ != nullptr; }
  std::string DriverVersion() const;
  // Processes that hold a compute context. Nothing: not told. Process ids are of no use inside a container, counts are.
  std::optional<int> ComputeProcesses() const;
  // The same, the rate of use and the memory that is held.
  DeviceUse Use() const;
  std::optional<bool> MigEnabled() const;
  // Whether NVLink joins the two.
  std::optional<bool> HasNvlinkTo(const Nvml& peer) const;
  // Of all NVLinks that are up together, one way, as they are clocked; 0: there is none.
  std::optional<double> NvlinkBytesPerSecond() const;
  // Clocks, power, temperature, reasons; foreign_process_count is left to the caller.
  DeviceState State() const;

 private:
  template <class Function>
  Function Find(const char* name) const;

  void* library_ = nullptr;
  void* device_ = nullptr;  // nvmlDevice_t
};

}  // namespace flightplan::probe
