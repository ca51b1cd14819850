// `flightplan validate --slurm-script`: what the Slurm door asks of one job. Prints one machine line, then a short
// block for the terminal of the person who submits.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "clients/cli/backend.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "service/doors/review.h"

namespace flightplan::cli {

struct SlurmScriptOptions {
  std::string path;                   // the script, or "-"
  std::vector<std::string> fields;    // "min_nodes=2", by resolver/shell/slurm_job.h; they override the #SBATCH lines
  std::vector<std::string> releases;  // "megatron-lm@0.17"
  std::string mode = "warn";          // shadow, warn, enforce: for the count at the server
};

// `base`: what the site states beside the job. Errors are INVALID_ARGUMENT for the options, as the site's flags, else
// the backend's. A script that cannot be read or is no launch is an answer: not judged.
absl::StatusOr<doors::Review> ReviewSlurmScript(const SlurmScriptOptions& options,
                                                const v1::ValidateConfigRequest& base, Backend& backend);

// Stands where a decision's id would, of a job that may be a training and could not be read: a site that fails closed
// refuses it.
inline constexpr absl::string_view kUnreadId = "unread";

// "refused fp1-...\n", then the block. At most kMaxSlurmFindings findings, each at most kMaxSlurmText bytes a part.
inline constexpr size_t kMaxSlurmFindings = 5;
inline constexpr size_t kMaxSlurmText = 240;
std::string RenderSlurmReview(const doors::Review& review);

}  // namespace flightplan::cli
