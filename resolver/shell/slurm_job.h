// The size of a Slurm job: from the #SBATCH lines of a script, or field by field from the controller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/environment.h"

namespace flightplan {

struct SlurmJob {
  std::optional<int64_t> nodes;  // empty: not said, or a range
  std::optional<int64_t> tasks;
  std::optional<int64_t> tasks_per_node;
  std::optional<int64_t> gpus;  // of the job
  std::optional<int64_t> gpus_per_node;
  std::optional<int64_t> gpus_per_task;
  std::string gpu_type;       // "h100"; empty: not said
  bool mixed_gpus = false;    // more than one type was asked for
  EnvVars exports;            // NAME=value of --export, which the script starts with
  std::string text_per_node;  // as written, which is what SLURM_GPUS_PER_NODE will be

  // GPUs of the whole job; empty: what was said does not add up to a number.
  std::optional<int64_t> GpuCount() const;
  // GPUs on each node; empty: unknown.
  std::optional<int64_t> GpusPerNode() const;
};

// What follows #SBATCH on each of those lines; they end at the first command, as for sbatch itself.
std::vector<absl::string_view> SbatchLines(absl::string_view script);
// The #SBATCH lines, which end at the first command as for sbatch itself. An option that is no size is skipped.
SlurmJob ReadSbatchLines(absl::string_view script);
// The same with the words of the command that submits the script, which overrule its lines.
SlurmJob ReadSbatch(absl::Span<const absl::string_view> options, absl::string_view script);

// One of sbatch's options by its long name ("nodes", "gpus-per-node", "gres") or one field of Slurm's job description
// ("min_nodes", "max_nodes", "num_tasks", "ntasks_per_node", "tres_per_node", "tres_per_job", "tres_per_task",
// "features"). A later word on a size overrides an earlier one. INVALID_ARGUMENT for any other key.
absl::Status SetSlurmField(absl::string_view key, absl::string_view value, SlurmJob* job);

// The variables that Slurm will set from these sizes; one that is set already stays.
void AddSlurmVariables(const SlurmJob& job, EnvVars* vars);

}  // namespace flightplan
