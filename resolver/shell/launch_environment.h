// What the programs in front of a training change in its environment: env, srun --export, docker run -e, mpirun -x.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "resolver/shell/state.h"

namespace flightplan {

class LaunchEnvironment {
 public:
  // `launcher`: the words in front of the training, or of the shell that starts it; `state`: what the script has said
  // so far.
  LaunchEnvironment(WordSpan launcher, const ShellState& state);

  bool empty() const { return base_ == Base::kCaller && changes_.empty() && !unknown_names_; }
  void ApplyTo(ShellState* state) const;

 private:
  // Beside what is changed: what the caller exports, nothing, or what only a run would know, as in a container.
  enum class Base { kCaller, kNothing, kElsewhere };

  size_t ReadEnv(WordSpan words);  // of its words those that are no command
  size_t ReadSudo(WordSpan words);
  void ReadExport(const TracedText& list);  // of srun
  void TakeList(const TracedText& list);
  void Take(const TracedText& setting);  // NAME=value, or a NAME that is passed on

  const ShellState& state_;
  Base base_ = Base::kCaller;
  bool unknown_names_ = false;                                // it sets variables whose names are not known
  std::map<std::string, std::optional<TracedText>> changes_;  // nothing: it is taken away
};

}  // namespace flightplan
