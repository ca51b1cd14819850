// A GPU, or something that answers like one. The method (probe/method) sees no more of a device than this.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "probe/row.h"
#include "probe/status.h"

namespace flightplan::probe {

// Something that gives samples of one or more rows at once: a kernel gives one row; a co-run gives one for each side.
// Used by one thread. Its memory on the device goes with it.
class Experiment {
 public:
  virtual ~Experiment() = default;

  const std::vector<RowSpec>& rows() const { return rows_; }
  // Those of stage 0 are measured first in every group, so that a short budget still leaves something of each.
  int stage() const { return stage_; }

  // Allocates, warms up, and holds the outputs against a reference. kUnsupported: the rows are absent, and the message
  // says why. Any other failure withholds the rows and is noted.
  virtual Status Prepare() = 0;
  // One sample of every row, in their order. May be called any number of times after Prepare.
  virtual Status Take(std::vector<double>* values) = 0;
  // The outputs were compared, and agreed.
  virtual bool checked() const { return false; }
  // At least so many samples are wanted of each row.
  virtual int sample_count() const { return 11; }

 protected:
  std::vector<RowSpec> rows_;
  int stage_ = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceInfo Info() = 0;
  virtual DeviceState State() = 0;
  // The experiments of a group, in the order in which they should run. They must not outlive the device.
  virtual std::vector<std::unique_ptr<Experiment>> Experiments(const std::string& group) = 0;
  // Experiments are prepared, which checks them, and not sampled.
  virtual bool CheckOnly() const { return false; }
  // After a call that failed: forgets it where the device still answers, so that the other rows can be measured. Its
  // failure ends the run.
  virtual Status Recover() { return Ok(); }
  // "13.0"; empty: none.
  virtual std::string CudaVersion() = 0;
  // What the profile must say of the whole run: memory held, what was replaced.
  virtual std::vector<std::string> Notes() { return {}; }
};

}  // namespace flightplan::probe
