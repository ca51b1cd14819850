// Measures the groups of a device within a budget, and reports as it goes.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "probe/device/device.h"
#include "probe/protocol.h"

namespace flightplan::probe {

struct RunRequest {
  std::vector<std::string> groups;  // empty: all
  double budget_seconds = 20;       // nothing new is started after it
  std::string record_file;          // raw samples go here, in the form that a fake device replays; empty: nowhere
};

// Seconds since some fixed moment; a test brings its own.
using Seconds = std::function<double()>;

// The profile as far as it got. A watchdog reads it while the run is stuck.
class Progress {
 public:
  Profile Snapshot() const;
  void Update(const std::function<void(Profile*)>& change);

 private:
  mutable std::mutex mutex_;
  Profile profile_;
};

// `stop`: a signal asks for an end after the sample at hand. Returns the failure that ended the run, if one did; the
// rows up to it are in `progress` in any case.
Status Run(Device& device, const RunRequest& request, const Seconds& seconds, const std::atomic<bool>& stop,
           LineWriter* out, Progress* progress);

}  // namespace flightplan::probe
