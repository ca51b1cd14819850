#include "resolver/judge/launch_nodes.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "resolver/normalize/request_bounds.h"
#include "resolver/shell/slurm_job.h"
#include "resolver/stacks/input_format.h"
#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

constexpr int kUsualNode = 8;

// What the question, the job's lines or the launcher say; 0: none does.
int64_t GpusOfNode(const SlurmJob& job, const ReadConfig& read) {
  if (read.env.gpus_per_node > 0) return read.env.gpus_per_node;
  int64_t said = job.GpusPerNode().value_or(0);
  if (said == 0 && read.env.world_size.value_or(0) % std::max<int64_t>(1, read.reading.node_processes) == 0) {
    said = read.reading.node_processes;
  }
  return said <= kMaxGpusPerNode ? said : 0;
}

}  // namespace

bool KeepNodes(const JudgeQuestion& source, const ReadConfig& read, Environment* to) {
  to->world_size = read.env.world_size;
  const bool script = read.reading.format == kShellFormat;
  const SlurmJob job = script ? ReadSbatchLines(source.input.text) : SlurmJob();
  // Slurm sets them again for the new job: written into its script they would say the old one's size.
  EnvVars of_slurm;
  AddSlurmVariables(job, &of_slurm);
  for (const auto& [name, value] : of_slurm) {
    const auto set = to->vars.find(name);
    if (set != to->vars.end() && set->second == value) to->vars.erase(set);
  }
  if (to->gpus_per_node > 0 || !to->world_size.has_value()) return false;
  to->gpus_per_node = static_cast<int>(GpusOfNode(job, read));
  if (to->gpus_per_node > 0 || !script) return false;
  to->gpus_per_node = kUsualNode;
  return true;
}

void KeepJobLines(const JudgeQuestion& source, Launch* launch) {
  std::string head;
  for (const absl::string_view line : SbatchLines(source.input.text)) absl::StrAppend(&head, "#SBATCH", line, "\n");
  if (!head.empty()) launch->text.insert(0, absl::StrCat("#!/bin/bash\n", head));
}

void AskForAssumedNodes(const Environment& env, Launch* launch) {
  const Nodes nodes = NodesOf(env);
  launch->required_inputs.insert(
      launch->required_inputs.begin(),
      {"nodes", "how many nodes, and GPUs of each; the source does not say how they stand",
       "nodes and GPUs of each, if other than written",
       absl::StrCat("--nnodes ", nodes.count, " --nproc-per-node ", nodes.gpus), "nodes of eight GPUs"});
}

}  // namespace flightplan
