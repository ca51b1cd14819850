// What the worker reports: rows, and the device they were measured on. In step with proto/flightplan/v1/profile.proto.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace flightplan::probe {

// What a row is about, before it is measured.
struct RowSpec {
  std::string id;                            // "hbm.copy"
  std::map<std::string, double> parameters;  // {"bytes": 268435456}
  std::map<std::string, std::string> labels;
  std::string unit;  // "us", "bytes_per_second", "flops_per_second", "ratio"
  // Bytes or FLOPs of one operation, for the units per second; samples are then microseconds. 0: a sample is the value.
  double work = 0;
  std::string kind = "measured";  // or "emulated", "synthetic"
};

struct Row {
  RowSpec spec;
  double value = 0, low = 0, high = 0;  // median and its interval, in the unit
  int sample_count = 0;
  bool checked = false;  // the output was compared to a reference and agreed
};

struct DeviceInfo {
  std::string name, uuid, driver_version;
  int index = 0;
  int sm_count = 0;
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  bool synthetic = false;
};

// The device's state at one moment; what its management library does not tell stays at -1.
struct DeviceState {
  int sm_clock_mhz = -1;
  int memory_clock_mhz = -1;
  double power_watts = -1, power_limit_watts = -1;
  int temperature_celsius = -1;
  // Reasons for reduced clocks in force, but neither idleness nor settings of the owner: "sw_power_cap".
  std::vector<std::string> throttle_reasons;
  int foreign_process_count = 0;
};

// What all states of a run come to.
struct Conditions {
  int sm_clock_mhz = 0;  // median
  int memory_clock_mhz = 0;
  double power_watts = 0;  // highest
  double power_limit_watts = 0;
  int temperature_celsius = 0;  // highest
  std::vector<std::string> throttle_reasons;
  int dropped_sample_count = 0;
};

struct Profile {
  DeviceInfo device;
  std::string measure_time;  // RFC 3339, UTC
  std::string cuda_version;
  bool partial = false;
  std::vector<Row> rows;
  Conditions conditions;
  std::vector<std::string> notes;
  int64_t duration_us = 0;
};

inline constexpr char kProbeVersion[] = "1";  // raised whenever what a row measures changes

}  // namespace flightplan::probe
