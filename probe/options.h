// The worker's command line.
#pragma once

#include <string>
#include <vector>

#include "probe/kernels/shapes.h"
#include "probe/limits.h"
#include "probe/status.h"

namespace flightplan::probe {

struct Options {
  std::vector<std::string> groups;  // empty: all
  int device = -1;                  // -1: the first free one
  std::vector<int> devices;         // measured together, as the ranks of an exchange; empty: one alone
  bool all_devices = false;         // the same, all of the node
  double budget_seconds = 20;
  int connections = 8;                 // hardware queues (CUDA_DEVICE_MAX_CONNECTIONS); 8 is the driver's default
  MoeShape shape;                      // of the layer whose sizes are measured
  int memory_mib = kDefaultMemoryMib;  // that it may hold of each device, all in all
  std::string fake_file;               // empty: a real device
  std::string fault;                   // of a fake device, for tests of whoever supervises the worker
  std::string record_file;
  std::string lock_directory;
  bool check = false;  // every kernel once, on small shapes, against its reference; nothing is timed
  bool once = false;   // the same on the shapes that are measured
  bool list = false, help = false, version = false;
};

inline constexpr double kLeastBudgetSeconds = 0.1, kMostBudgetSeconds = 600;
inline constexpr int kMostConnections = 32;  // of the driver
inline constexpr const char* kFaults[] = {"crash", "hang",         "garbage",    "truncated",
                                          "flood", "wrong_schema", "no_profile", "stderr_flood"};

// kBadOption with a message that names the option, what is wrong and what would be right.
Status ParseOptions(const std::vector<std::string>& arguments, Options* options);

std::string Usage();

}  // namespace flightplan::probe
