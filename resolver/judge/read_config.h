// The reading of a configuration in any spelling: knobs with the places they were written at.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "resolver/judge/knowledge.h"
#include "resolver/plan/config.h"
#include "resolver/plan/cpu_binding.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/hardware.h"
#include "resolver/plan/intent.h"
#include "resolver/plan/judge_question.h"
#include "resolver/plan/model.h"
#include "resolver/plan/reading.h"

namespace flightplan {

struct ShellLaunch;  // resolver/shell/reader.h

inline constexpr absl::string_view kOtherLaunches = "input.other-launches";
inline constexpr absl::string_view kLaunchWorldSize = "launch.world-size";

// What the reader made of an input, and what it refused.
struct Reading {
  std::string input;   // name of the input, for locations
  std::string format;  // how it was read: "argv", "shell", "bridge-yaml" ...; "knobs"
  ParseResult parsed;
  std::vector<Argument> args;              // the words it was read from; empty for YAML and knobs
  std::vector<std::string> not_judged;     // what the reader could not know
  Knowledge knowledge;                     // what it shows
  CpuBinding cpu_binding;                  // that its launcher says
  std::vector<Knob> stated;                // by the caller beside the input's text
  const ModelSpec* named_model = nullptr;  // that the launch names, of the catalogue; null: none
  int64_t node_processes = 0;              // how many its launcher starts on a node; 0: it does not say
  bool launches_left = false;              // a script launches other trainings, too, of which nothing is said
  bool no_launch = false;                  // a script without a training command: there is nothing to judge
};

// What forecasts rest on beside the GPU system.
struct ForecastBasis {
  // Of the rates: as in NormalizedIntent.
  std::shared_ptr<const ProbeEvidence> probe;
  std::string transport;
  HostCpuClass host_cpu = HostCpuClass::kUnknown;
  const EvidenceSnapshot* evidence = nullptr;  // as in JudgeQuestion
  std::vector<Finding> findings;               // of a profile that was sent and is not used
};

// A configuration before any rule ran.
struct ReadConfig {
  Reading reading;
  Config config;                 // the written knobs over the class defaults
  Environment env;               // with what the input says of it: a script's exports, its launcher's world size
  std::optional<GpuSystem> gpu;  // empty: none is named, or one that is not known
  std::string gpu_fault;         // JudgeQuestion's
  uint64_t work = 0;             // that reading it took, in units of base/work.h
  ForecastBasis basis;
  std::shared_ptr<const ShellLaunch> script;  // with the other launches; null: it has none
};

// One of ReadConfig::script's other launches; as made: none of them.
struct OtherLaunch {
  std::shared_ptr<const ShellLaunch> script;
  size_t index = 0;
};

// Executes nothing of what it reads. INVALID_ARGUMENT with BadRequest where the form of the input does not suit its
// target, or reading it takes too much work; CANCELLED where the caller went away.
absl::StatusOr<ReadConfig> Read(const JudgeQuestion& question, const OtherLaunch& other = {});

// The written knobs over the class defaults of the target.
Config ConfigOf(const std::vector<ParsedKnob>& knobs, const Environment& env);

}  // namespace flightplan
