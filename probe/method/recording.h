// The raw samples of a run, in the form that a fake device replays (README.md).
#pragma once

#include <string>
#include <vector>

#include "probe/device/device.h"

namespace flightplan::probe {

class Recording {
 public:
  explicit Recording(std::string file) : file_(std::move(file)) {}

  void Add(const std::string& group, const Experiment& experiment, const std::vector<std::vector<double>>& samples);
  // Does nothing without a file.
  Status Write(const DeviceInfo& device) const;

 private:
  std::string file_;
  std::string experiments_;  // their JSON, with commas
};

}  // namespace flightplan::probe
