// Finds the launch in a Kubernetes object: Job, PyTorchJob, TrainJob, JobSet, Volcano Job, MPIJob, RayJob. Reads the
// object alone; references (config maps, secrets, the image's entry point, a training runtime) are not
// followed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rapidjson/document.h"
#include "resolver/plan/environment.h"
#include "service/doors/skip.h"

namespace flightplan::doors {

struct Workload {
  std::string kind;             // "PyTorchJob"; as written
  std::string script;           // the launch as shell text; empty: `skip` says why
  std::optional<Skip> skip;     // nothing: judge it
  std::optional<int64_t> gpus;  // of the whole job; empty: the object does not say
  std::string gpu_label;        // of a node selector or affinity; empty: none, or more than one
  EnvVars vars;                 // of the launching container, and what its operator sets
};

// Never fails: an object that is none of these, or is malformed, is not judged.
Workload ReadWorkload(const rapidjson::Value& object);

// Whether both launch the same on the same GPUs.
bool SameLaunch(const Workload& a, const Workload& b);

}  // namespace flightplan::doors
