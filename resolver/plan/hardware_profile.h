// What a probe measured on one GPU, in our own types.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan {

// kImported: measured between real peers by another program, whose output was read.
enum class RowKind { kMeasured, kImported, kEmulated, kSynthetic };

struct ProfileRow {
  std::string id;                                          // "hbm.copy"
  std::map<std::string, double, std::less<>> parameters;   // {"bytes": 268435456}
  std::map<std::string, std::string, std::less<>> labels;  // {"pass": "backward"}
  double value = 0, low = 0, high = 0;                     // median and its interval, in `unit`
  std::string unit;                                        // "us", "bytes_per_second", "flops_per_second", "ratio"
  RowKind kind = RowKind::kMeasured;
  int sample_count = 0;

  // NaN: the row has no such parameter.
  double Parameter(absl::string_view parameter) const {
    const auto found = parameters.find(parameter);
    return found == parameters.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
  }
  // Empty: the row has no such label. Views the row.
  absl::string_view Label(absl::string_view label) const {
    const auto found = labels.find(label);
    return found == labels.end() ? absl::string_view() : absl::string_view(found->second);
  }
};

struct HardwareProfile {
  std::string name;
  std::string device_name;  // as the driver names it: "NVIDIA H200"
  std::string device_uuid;
  std::string driver_version;
  std::string probe_version;
  std::string gpu;              // system of the catalogue; empty: not recognised
  int64_t measure_seconds = 0;  // since 1970
  int sm_count = 0;             // 0: not told
  bool partial = false;
  bool synthetic = false;  // replayed by a fake device: never evidence
  std::vector<ProfileRow> rows;
};

}  // namespace flightplan
