// The block of arguments that Megatron-LM and LoongForge print when they start: what the run was really given, with
// defaults and silent changes.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace flightplan {

// Reads line by line, between "---- arguments ----" and "---- end of arguments ----".
class ArgumentsReader {
 public:
  static constexpr size_t kMostArguments = 4096;
  static constexpr size_t kLongestValue = 4096;  // longer values are left out

  // Passes over a line that does not belong to a block. `complete`: the line's end was seen.
  void Read(absl::string_view line, bool complete);

  // By name, as printed: {"tensor_model_parallel_size", "8"}. Of several blocks (a restart) the last one.
  const std::map<std::string, std::string>& arguments() const { return arguments_; }

 private:
  bool inside_ = false;
  std::map<std::string, std::string> arguments_;
};

}  // namespace flightplan
