// The smallest change that makes a configuration free of errors: the fixes that the rules carry, and, where none of
// them does, a bounded search among the knobs that the rules read.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <vector>

#include "resolver/engine/engine.h"
#include "resolver/plan/knob.h"

namespace flightplan {

struct RepairOptions {
  // Knobs of class convergence (batch, precision, routing ...) may be changed by a rule's own fix. The search never
  // touches them.
  bool allow_convergence = false;
  // Which errors are to be removed; empty: all of them.
  std::function<bool(const Finding&)> counts = nullptr;
  // These stay as they are.
  std::set<Knob> kept;
};

struct RepairStep {
  absl::string_view rule_id;  // the finding it removes
  Patch patch;
  bool searched = false;  // no fix of the rule's own did
};

struct Repair {
  std::vector<RepairStep> steps;  // in order
  Patch patch;                    // all steps as one: the last value of each knob and variable
  std::vector<Finding> left;      // errors that stay
};

inline constexpr size_t kMaxRepairSteps = 32;
inline constexpr size_t kMaxRepairRuns = 8000;  // of the rules, for all searches of one repair

// A step is taken only when it removes its finding and brings no error of the same area that was not there. `config`
// and `env` as for Run.
Repair FindRepair(const Config& config, const Environment& env, const RepairOptions& options = {});

// Sets the knobs as the caller's words, and the variables; None unsets a variable.
void ApplyPatch(const Patch& patch, Config* config, Environment* env);

// True when the patch sets a knob of class convergence.
bool ChangesConvergence(const Patch& patch);

}  // namespace flightplan
