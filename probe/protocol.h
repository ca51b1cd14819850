// The worker's lines on standard output (README.md): one JSON object a line, each with one member that says what it is.
#pragma once

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>

#include "probe/row.h"
#include "probe/status.h"

namespace flightplan::probe {

std::string DeviceLine(const DeviceInfo& device, const std::string& cuda_version);
std::string ProgressLine(double done_ratio, const std::string& current_row);
std::string RowLine(const Row& row);
std::string ProfileLine(const Profile& profile);
std::string ErrorLine(const Status& status);

// Whole lines in one write each, so that a reader never sees half of one from a live worker. May be used from several
// threads.
class LineWriter {
 public:
  // `gone` becomes true when the reader has gone away. Both outlive the writer.
  LineWriter(std::FILE* out, std::atomic<bool>* gone) : out_(out), gone_(gone) {}
  virtual ~LineWriter() = default;
  virtual void Write(const std::string& line);

 private:
  std::mutex mutex_;
  std::FILE* out_;
  std::atomic<bool>* gone_;
};

}  // namespace flightplan::probe
