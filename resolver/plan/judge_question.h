// A configuration that is to be judged, as somebody wrote it, and what it will meet.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resolver/plan/environment.h"
#include "resolver/plan/hardware.h"
#include "resolver/plan/intent.h"
#include "resolver/plan/knob.h"

namespace flightplan {

class Catalog;           // resolver/catalog
class EvidenceSnapshot;  // resolver/evidence
struct FittedProfile;    // resolver/evidence
struct KnownProfiles;    // resolver/pipeline

// A configuration in one of three forms. The members of the other forms are empty.
struct ConfigInput {
  enum class Form { kArguments, kFile, kKnobs };

  Form form = Form::kArguments;
  std::string format;  // how arguments or the file are written: "argv", "bridge-yaml" ...; empty: to be recognised
  std::vector<std::string> arguments;         // behind the program's name
  std::string file_name, text;                // of the file; the name may be empty
  std::vector<std::pair<Knob, Value>> knobs;  // each knob once, sorted
};

struct JudgeQuestion {
  const Catalog* catalog = nullptr;  // for what a launch names; lives longer than the question. Null: nothing is known
  ConfigInput input;
  std::vector<std::pair<Knob, Value>> stated;  // hold beside the input's text and over it; each knob once, sorted
  Environment env;               // without what the input itself will say of it, such as a script's exports
  std::optional<GpuSystem> gpu;  // empty: none is named, or one that is not known
  std::string transport;         // as in NormalizedIntent
  HostCpuClass host_cpu = HostCpuClass::kUnknown;
  // That a forecast of the step may rest on; live longer than the question. Null: the catalogue's rates.
  const KnownProfiles* profiles = nullptr;
  std::shared_ptr<const FittedProfile> sent_profile;  // a probe's, sent with the question; null: none
  // Reported runs that forecasts of memory and step are moved by; live longer than the question. Null: none.
  const EvidenceSnapshot* evidence = nullptr;
  std::string gpu_fault;         // of a name that is not known: what it was, and what is near; empty: none
  bool software_stated = false;  // the caller says what is installed and exported; what they leave out is not there
  View view = View::kFull;
  std::optional<int> launch;  // which of a script's launches is read, as LaunchCommand counts them; empty: the last
  bool repair = false;        // say how to make it run
  bool repair_convergence = false;  // the repair may change what is trained
  bool repair_room = false;         // the repair makes room where memory is tight, at the price of step time
};

// The same configuration for another stack or release.
struct ConvertQuestion {
  JudgeQuestion source;
  Environment target;
};

}  // namespace flightplan
