#include "resolver/shell/slurm_job.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/saturating.h"
#include "resolver/base/utf8.h"
#include "resolver/shell/raw.h"

namespace flightplan {
namespace {

constexpr int64_t kMost = int64_t{1} << 20;  // of anything counted here; Slurm's own "no value" is far above it

std::optional<int64_t> Number(absl::string_view text) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 1 || number > kMost) return std::nullopt;
  return number;
}

// "4", "4-4"; a range that leaves the count open is none.
std::optional<int64_t> NodeCount(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> halves = absl::StrSplit(text, absl::MaxSplits('-', 1));
  const std::optional<int64_t> least = Number(halves.first);
  if (halves.second.empty()) return absl::StrContains(text, '-') ? std::nullopt : least;
  return least == Number(halves.second) ? least : std::nullopt;
}

// GPUs in a list of resources: "8", "h100:8", "gpu:8", "gres:gpu:h100:8", "gres/gpu=8", "gpu:a100:2,gpu:h100:2".
// `bare`: an item without the word gpu is one too, as in --gpus-per-node.
std::optional<int64_t> Gpus(absl::string_view text, bool bare, SlurmJob* job) {
  std::optional<int64_t> total;
  for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    item = absl::StripAsciiWhitespace(item);
    const size_t index_list = item.find('(');  // "gpu:8(S:0-1)"
    item = item.substr(0, index_list);
    if (!absl::ConsumePrefix(&item, "gres:")) absl::ConsumePrefix(&item, "gres/");
    const std::vector<std::string> parts = absl::StrSplit(item, absl::ByAnyChar(":="), absl::SkipEmpty());
    const bool named = !parts.empty() && parts[0] == "gpu";
    if (parts.empty() || (!named && !bare)) continue;
    const size_t first = named ? 1 : 0;
    std::string type;
    std::optional<int64_t> count = 1;  // "gpu" and "gpu:h100" mean one
    for (size_t i = first; i < parts.size(); ++i) {
      if (const std::optional<int64_t> number = Number(parts[i]); number.has_value() && i + 1 == parts.size()) {
        count = number;
      } else {
        type = parts[i];
      }
    }
    if (!type.empty()) {
      job->mixed_gpus = job->mixed_gpus || (!job->gpu_type.empty() && job->gpu_type != type);
      job->gpu_type = type;
    }
    total = total.value_or(0) + *count;
  }
  return total;
}

enum class Field { kNodes, kMaxNodes, kTasks, kTasksPerNode, kGpus, kGpusPerNode, kGpusPerTask, kGres, kConstraint };

struct SizeOption {
  absl::string_view name;
  char letter;  // of sbatch's short option, or 0
  Field field;
};

// sbatch's options, then the fields of the controller's job description that say the same.
constexpr SizeOption kSizeOptions[] = {
    {"nodes", 'N', Field::kNodes},
    {"ntasks", 'n', Field::kTasks},
    {"ntasks-per-node", 0, Field::kTasksPerNode},
    {"gpus", 'G', Field::kGpus},
    {"gpus-per-node", 0, Field::kGpusPerNode},
    {"gpus-per-task", 0, Field::kGpusPerTask},
    {"gres", 0, Field::kGres},
    {"constraint", 'C', Field::kConstraint},
    {"min_nodes", 0, Field::kNodes},
    {"max_nodes", 0, Field::kMaxNodes},
    {"num_tasks", 0, Field::kTasks},
    {"ntasks_per_node", 0, Field::kTasksPerNode},
    {"tres_per_job", 0, Field::kGpus},
    {"tres_per_node", 0, Field::kGres},
    {"tres_per_task", 0, Field::kGpusPerTask},
    {"features", 0, Field::kConstraint},
};

void Set(Field field, absl::string_view value, SlurmJob* job) {
  switch (field) {
    case Field::kNodes:
      job->nodes = NodeCount(value);
      return;
    case Field::kMaxNodes:
      if (Number(value) != job->nodes) job->nodes.reset();
      return;
    case Field::kTasks:
      job->tasks = Number(value);
      return;
    case Field::kTasksPerNode:
      job->tasks_per_node = Number(value);
      return;
    case Field::kGpus:
      job->gpus = Gpus(value, !absl::StartsWith(value, "gres"), job);
      return;
    case Field::kGpusPerNode:
      job->gpus_per_node = Gpus(value, true, job);
      job->text_per_node = std::string(value);
      return;
    case Field::kGres:
      if (const auto count = Gpus(value, false, job); count.has_value()) job->gpus_per_node = count;
      return;
    case Field::kGpusPerTask:
      job->gpus_per_task = Gpus(value, !absl::StartsWith(value, "gres"), job);
      return;
    case Field::kConstraint:  // a feature may name the GPU; which one it is says the catalogue
      if (job->gpu_type.empty() && value.find_first_of("|&*[(") == absl::string_view::npos) {
        job->gpu_type = std::string(value);
      }
      return;
  }
}

// The option of one #SBATCH word: "--nodes=2", "-N2"; with `next` for "--nodes 2", "-N 2". True: next was its value.
bool TakeOption(absl::string_view word, absl::string_view next, SlurmJob* job) {
  for (const SizeOption& row : kSizeOptions) {
    absl::string_view rest = word;
    if (absl::ConsumePrefix(&rest, absl::StrCat("--", row.name))) {
      if (rest.empty()) {
        Set(row.field, next, job);
        return true;
      }
      if (absl::ConsumePrefix(&rest, "=")) {
        Set(row.field, rest, job);
        return false;
      }
    } else if (row.letter != 0 && rest.size() >= 2 && rest[0] == '-' && rest[1] == row.letter) {
      rest.remove_prefix(2);
      if (rest.empty()) {
        Set(row.field, next, job);
        return true;
      }
      absl::ConsumePrefix(&rest, "=");
      Set(row.field, rest, job);
      return false;
    }
  }
  return false;
}

// NAME=value of the list of --export. One with a quote may hold commas of its own, and is left out.
void ReadExports(absl::string_view list, EnvVars* exports) {
  if (list.find_first_of("'\"") != absl::string_view::npos) return;
  for (const absl::string_view item : absl::StrSplit(list, ',')) {
    const std::pair<absl::string_view, absl::string_view> halves = absl::StrSplit(item, absl::MaxSplits('=', 1));
    if (absl::StrContains(item, '=') && IsVariableName(halves.first)) {
      exports->insert_or_assign(std::string(halves.first), std::string(halves.second));
    }
  }
}

// Words of sbatch, a later one over an earlier one.
class SbatchReader {
 public:
  void Take(absl::Span<const absl::string_view> words) {
    for (size_t i = 0; i < words.size(); ++i) {
      if (absl::StartsWith(words[i], "#")) break;
      absl::string_view list = words[i];
      if (absl::ConsumePrefix(&list, "--export") && (list.empty() || list[0] == '=')) {
        const bool next = list.empty() && i + 1 < words.size();
        ReadExports(next ? words[++i] : list.substr(list.empty() ? 0 : 1), &job_.exports);
        continue;
      }
      nodes_said_ = nodes_said_ || absl::StartsWith(words[i], "--nodes") || absl::StartsWith(words[i], "-N");
      if (TakeOption(words[i], i + 1 < words.size() ? words[i + 1] : "", &job_)) ++i;
    }
  }

  SlurmJob Finish() {
    // sbatch's own default, where nothing spreads the job over more.
    if (!nodes_said_ && !job_.tasks.has_value() && job_.gpus_per_node.has_value()) job_.nodes = 1;
    return std::move(job_);
  }

 private:
  SlurmJob job_;
  bool nodes_said_ = false;
};

void AddVariable(absl::string_view name, const std::optional<int64_t>& value, EnvVars* vars) {
  if (value.has_value()) vars->emplace(std::string(name), absl::StrCat(*value));
}

}  // namespace

std::optional<int64_t> SlurmJob::GpuCount() const {
  if (gpus.has_value()) return gpus;
  if (gpus_per_node.has_value()) {
    std::optional<int64_t> count = nodes;
    if (!count.has_value() && tasks.has_value() && tasks_per_node.has_value()) {
      count = (*tasks + *tasks_per_node - 1) / *tasks_per_node;
    }
    if (!count.has_value()) return std::nullopt;
    return SaturatingMul(*count, *gpus_per_node);
  }
  if (gpus_per_task.has_value() && tasks.has_value()) return SaturatingMul(*tasks, *gpus_per_task);
  if (gpus_per_task.has_value() && tasks_per_node.has_value() && nodes.has_value()) {
    return SaturatingMul(SaturatingMul(*nodes, *tasks_per_node), *gpus_per_task);
  }
  return std::nullopt;
}

std::optional<int64_t> SlurmJob::GpusPerNode() const {
  if (gpus_per_node.has_value()) return gpus_per_node;
  const std::optional<int64_t> count = GpuCount();
  if (!count.has_value() || !nodes.has_value() || *count % *nodes != 0) return std::nullopt;
  return *count / *nodes;
}

std::vector<absl::string_view> SbatchLines(absl::string_view script) {
  std::vector<absl::string_view> lines;
  for (absl::string_view line : absl::StrSplit(script, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    if (line[0] != '#') break;
    if (absl::ConsumePrefix(&line, "#SBATCH")) lines.push_back(line);
  }
  return lines;
}

SlurmJob ReadSbatch(absl::Span<const absl::string_view> options, absl::string_view script) {
  SbatchReader reader;
  for (const absl::string_view line : SbatchLines(script)) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    reader.Take(words);
  }
  reader.Take(options);
  return reader.Finish();
}

SlurmJob ReadSbatchLines(absl::string_view script) { return ReadSbatch({}, script); }

absl::Status SetSlurmField(absl::string_view key, absl::string_view value, SlurmJob* job) {
  const auto* row = std::find_if(std::begin(kSizeOptions), std::end(kSizeOptions),
                                 [key](const SizeOption& r) { return r.name == key; });
  if (row == std::end(kSizeOptions)) {
    std::vector<absl::string_view> known;
    for (const SizeOption& r : kSizeOptions) known.push_back(r.name);
    return absl::InvalidArgumentError(
        absl::StrCat("knows no field '", Utf8Prefix(key, 64), "'; known: ", absl::StrJoin(known, ", ")));
  }
  Set(row->field, value, job);
  return absl::OkStatus();
}

void AddSlurmVariables(const SlurmJob& job, EnvVars* vars) {
  AddVariable("SLURM_NNODES", job.nodes, vars);
  AddVariable("SLURM_JOB_NUM_NODES", job.nodes, vars);
  std::optional<int64_t> tasks = job.tasks;
  if (!tasks.has_value() && job.nodes.has_value()) tasks = *job.nodes * job.tasks_per_node.value_or(1);
  AddVariable("SLURM_NTASKS", tasks, vars);
  AddVariable("SLURM_NPROCS", tasks, vars);
  AddVariable("SLURM_NTASKS_PER_NODE", job.tasks_per_node, vars);
  AddVariable("SLURM_GPUS", job.gpus, vars);
  AddVariable("SLURM_GPUS_ON_NODE", job.GpusPerNode(), vars);
  AddVariable("SLURM_GPUS_PER_TASK", job.gpus_per_task, vars);
  if (!job.text_per_node.empty()) vars->emplace("SLURM_GPUS_PER_NODE", job.text_per_node);
}

}  // namespace flightplan
