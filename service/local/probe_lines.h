// The worker's lines: each is one JSON object with one member, checked against the contract before anything uses it.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "flightplan/v1/probe_service.pb.h"

namespace flightplan::service {

// What a worker has said so far.
class ProbeLines {
 public:
  explicit ProbeLines(std::function<void(const v1::ProbeProgress&)> progress) : progress_(std::move(progress)) {}

  // INVALID_ARGUMENT: the line is no line of the protocol.
  absl::Status Take(absl::string_view line);

  bool complete() const { return complete_; }  // the profile line came
  bool has_device() const { return has_device_; }
  int row_count() const { return profile_.rows_size(); }
  // The device's head and the rows so far, or the profile as the worker printed it.
  const v1::HardwareProfile& profile() const { return profile_; }
  const std::string& error_code() const { return error_code_; }  // empty: no error line came
  const std::string& error_message() const { return error_message_; }

 private:
  absl::Status TakeMember(absl::string_view name, const std::string& json);

  std::function<void(const v1::ProbeProgress&)> progress_;
  v1::HardwareProfile profile_;
  bool has_device_ = false, complete_ = false;
  std::string error_code_, error_message_;
};

}  // namespace flightplan::service
