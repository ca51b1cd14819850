// Data files of the tests and the checkers: plain, or packed by gzip.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace flightplan {

// NOT_FOUND: it cannot be opened; DATA_LOSS: damaged gzip data, or a file with nothing in it.
absl::StatusOr<std::string> ReadDataFile(const std::string& path);

// For the command line of a checker: says what is wrong and ends the program with exit code 2.
std::string ReadDataFileOrExit(const std::string& path);

}  // namespace flightplan
