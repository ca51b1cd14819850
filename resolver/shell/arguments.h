// $1, ..., $9, $@ and $#: the arguments of a script, and of the functions that it calls. They are variables like
// others.
#pragma once

#include "resolver/shell/state.h"

namespace flightplan {

void SetShellArguments(WordSpan words, ShellState* state);

// The arguments of a function, and what it makes local, are there as long as this lives; then those of its caller are
// back.
class ShellCallArguments {
 public:
  ShellCallArguments(WordSpan words, ShellState* state);
  ~ShellCallArguments() { state_.LeaveScope(); }
  ShellCallArguments(const ShellCallArguments&) = delete;
  ShellCallArguments& operator=(const ShellCallArguments&) = delete;

 private:
  ShellState& state_;
};

}  // namespace flightplan
