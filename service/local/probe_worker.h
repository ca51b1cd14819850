// Runs flightplan-probe on this machine and takes from its lines what the schema allows (probe/README.md has the lines
// and the exit codes).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "flightplan/v1/probe_service.pb.h"
#include "probe/limits.h"
#include "service/local/child_process.h"

namespace flightplan {
class Catalog;
}

namespace flightplan::service {

inline constexpr absl::Duration kDefaultProbeBudget = absl::Seconds(20);
inline constexpr absl::Duration kLeastProbeBudget = absl::Seconds(1), kMostProbeBudget = absl::Seconds(30);
inline constexpr int64_t kLeastProbeMemory = int64_t{probe::kLeastMemoryMib} << 20;
inline constexpr int64_t kMostProbeMemory = int64_t{probe::kMostMemoryMib} << 20;

struct ProbeJob {
  std::shared_ptr<const Catalog> catalog;  // of the models that a request names; never null
  std::string worker;                      // path; empty: flightplan-probe beside this program, or else on the PATH
  std::string fake;                        // replays a file instead of a GPU; empty: a GPU
  v1::RunProbeRequest request;
  absl::Duration most = absl::InfiniteDuration();  // of the whole run; the budget is cut so that it ends in time
  std::vector<std::string> extra_arguments;        // the worker's own, behind those of the request
};

// How a run ended: the label of flightplan_probe_runs_total.
enum class ProbeResult { kOk, kPartial, kRefused, kMissing, kBusy, kCrashed, kTimeOver, kGarbage, kCancelled };
inline constexpr int kProbeResults = 9;
absl::string_view ProbeResultName(ProbeResult result);

struct ProbeEnd {
  ProbeResult result = ProbeResult::kOk;
  // OK with a profile, which is a partial one where the worker died after some rows. Else
  //   INVALID_ARGUMENT     groups, devices, budget, memory, model or layout make no sense (BadRequest)
  //   FAILED_PRECONDITION  no worker (PROBE_NOT_INSTALLED), no GPU (NO_GPU), it is busy (GPU_BUSY), not ours
  //                        (GPU_NOT_OURS), or the worker has no CUDA (PROBE_UNSUPPORTED)
  //   UNAVAILABLE          another probe runs on it (PROBE_BUSY), with RetryInfo
  //   ABORTED              the worker crashed or printed what is no profile (PROBE_FAILED)
  //   DEADLINE_EXCEEDED, CANCELLED
  absl::Status status;
  v1::HardwareProfile profile;
  int stuck_pid = 0;  // a worker that not even SIGKILL ended
};

// Blocks; from a thread of its own. Every line is checked before `progress` sees it.
ProbeEnd RunProbeWorker(const ProbeJob& job, const StopSwitch& stop,
                        const std::function<void(const v1::ProbeProgress&)>& progress);

// What RunProbeRequest.groups may name.
absl::Span<const absl::string_view> ProbeGroups();

// Checks a request alone. `shape` becomes the layer that it asks for (ProbedLayer).
absl::Status CheckProbeRequest(const v1::RunProbeRequest& request, const Catalog& catalog, std::string* shape);

// The worker's path by the rule above; NOT_FOUND names where it was looked for.
absl::StatusOr<std::string> FindProbeWorker(const std::string& configured);

}  // namespace flightplan::service
