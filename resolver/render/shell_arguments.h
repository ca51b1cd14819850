// $1, ..., $9, $@ and $#: the arguments of a script, and of the functions that it calls. They are variables like
// others.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resolver/render/shell_state.h"

namespace flightplan {

void SetShellArguments(WordSpan words, ShellState* state);

// The arguments of a function are there as long as this lives; then those of its caller are back.
class ShellCallArguments {
 public:
  ShellCallArguments(WordSpan words, ShellState* state);
  ~ShellCallArguments();
  ShellCallArguments(const ShellCallArguments&) = delete;
  ShellCallArguments& operator=(const ShellCallArguments&) = delete;

 private:
  ShellState& state_;
  std::vector<std::pair<std::string, std::optional<ShellWords>>> outer_;
};

}  // namespace flightplan
