// The reading side of ValidateConfig: a configuration in any spelling, as knobs with the places they were written at.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "resolver/plan/environment.h"
#include "resolver/render/dialect.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class ValidateConfigRequest;
}  // namespace v1

// The configuration of a validate request: knobs with their places, and what its reader refused.
struct Reading {
  std::string input;   // name of the input, for locations
  std::string format;  // how it was read: "argv", "shell", "bridge-yaml" ...; "knobs"
  ParseResult parsed;
  std::vector<Argument> args;           // the words it was read from; empty for YAML and knobs
  std::vector<std::string> not_judged;  // what the reader could not know
  bool no_launch = false;               // a script without a training command: there is nothing to judge
};

// The MLA config class is the one that this configuration builds.
bool IsMla(const std::vector<ParsedKnob>& knobs);

// A script's exports and its launcher's world size go into `env`. Nothing that is read is executed.
absl::StatusOr<Reading> ReadConfig(const v1::ValidateConfigRequest& request, Environment* env);

}  // namespace flightplan
