// What the checks share that compare a reader of ours with the program whose language it reads.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan::properties {

// --count N --seed S --first K --print, and a file by a flag of the check's own.
struct ReferenceOptions {
  int64_t count = 0;
  int64_t first = 0;
  uint64_t seed = 1;
  bool print = false;
  std::string file;
};
// False: a word that is no option, or an option without a value that it may have.
bool ReadOptions(int argc, char** argv, absl::string_view file_flag, ReferenceOptions* options);

// What the Python script prints of these files (name and text), a reading a line. Ends the program where it fails.
std::vector<std::string> PythonsReadings(const std::string& script,
                                         const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace flightplan::properties
