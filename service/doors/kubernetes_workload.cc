#include "service/doors/kubernetes_workload.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan::doors {
namespace {

using Json = rapidjson::Value;

constexpr int64_t kMostPods = int64_t{1} << 20;
// In place of any larger count: products and sums of such still have room.
constexpr int64_t kTooMany = kMostPods + 1;
// Of all command lines of an object, after $(NAME): the kernel starts nothing longer than 2 MiB, and no launch is near
// it.
constexpr size_t kMaxLaunchBytes = size_t{512} << 10;

// Node labels that name the GPU, the most exact first.
constexpr const char* kGpuLabels[] = {"nvidia.com/gpu.product", "cloud.google.com/gke-accelerator",
                                      "node.kubernetes.io/instance-type", "gpu.nvidia.com/model",
                                      "karpenter.k8s.aws/instance-gpu-name"};

// ---- reading JSON by path; anything absent or of another type is null, 0 or empty

const Json& Null() {
  static const Json* const kNull = new Json();
  return *kNull;
}

const Json& At(const Json& value, std::initializer_list<const char*> path) {
  const Json* at = &value;
  for (const char* key : path) {
    if (!at->IsObject()) return Null();
    const auto found = at->FindMember(key);
    if (found == at->MemberEnd()) return Null();
    at = &found->value;
  }
  return *at;
}

std::string Text(const Json& value) {
  return value.IsString() ? std::string(value.GetString(), value.GetStringLength()) : "";
}

// A count: 8 or "8". Empty where there is none; quantities of GPUs are whole numbers.
std::optional<int64_t> Count(const Json& value) {
  int64_t number = -1;
  if (value.IsInt64()) number = value.GetInt64();
  if (value.IsString() && !absl::SimpleAtoi(Text(value), &number)) return std::nullopt;
  if (number < 0 || number > kMostPods) return std::nullopt;
  return number;
}

template <typename Visitor>
void ForEachItem(const Json& list, Visitor visit) {
  if (!list.IsArray()) return;
  for (const Json& item : list.GetArray()) visit(item);
}

std::vector<std::string> Words(const Json& list) {
  std::vector<std::string> words;
  ForEachItem(list, [&words](const Json& item) { words.push_back(Text(item)); });
  return words;
}

// ---- pods

// A number of equal pods.
struct PodGroup {
  std::string role;  // "Worker", "Launcher", a task's name
  std::optional<int64_t> pods;
  const Json* spec;  // the PodSpec
  int64_t gpus;      // of each
};

int64_t GpusOf(const Json& container) {
  for (const char* kind : {"limits", "requests"}) {
    const std::optional<int64_t> count = Count(At(container, {"resources", kind, "nvidia.com/gpu"}));
    if (count.has_value()) return *count;
  }
  return 0;
}

int64_t GpusPerPod(const Json& spec) {
  int64_t gpus = 0;
  ForEachItem(At(spec, {"containers"}), [&gpus](const Json& container) { gpus += GpusOf(container); });
  return gpus;
}

// From the node selector, else from a required affinity that leaves one choice.
void AddGpuLabels(const Json& spec, std::set<std::string>* labels) {
  for (const char* key : kGpuLabels) {
    if (const std::string label = Text(At(spec, {"nodeSelector", key})); !label.empty()) {
      labels->insert(label);
      return;
    }
  }
  const Json& terms =
      At(spec, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  ForEachItem(terms, [labels](const Json& term) {
    ForEachItem(At(term, {"matchExpressions"}), [labels](const Json& expression) {
      const std::string key = Text(At(expression, {"key"}));
      const bool names_gpu = std::find(std::begin(kGpuLabels), std::end(kGpuLabels), key) != std::end(kGpuLabels);
      if (!names_gpu || Text(At(expression, {"operator"})) != "In") return;
      for (const std::string& value : Words(At(expression, {"values"}))) labels->insert(value);
    });
  });
}

// The command lines and variables of an object, which may be longer than the object: a variable may stand in them any
// number of times.
class CommandLines {
 public:
  // One container's as a line of shell; each word quoted, so that only `bash -c` strings are read as shell. Empty: it
  // has none, or there is no more room.
  std::string Of(const std::vector<std::string>& command, const std::vector<std::string>& args, const EnvVars& vars) {
    std::vector<std::string> words;
    for (const auto* list : {&command, &args}) {
      for (const std::string& word : *list) {
        const std::string expanded = Expand(word, vars);
        holds_nul_ = holds_nul_ || absl::StrContains(expanded, '\0');
        words.push_back(ShellQuote(expanded));
      }
    }
    return words.empty() || too_long_ ? "" : absl::StrCat(absl::StrJoin(words, " "), "\n");
  }

  // Adds a container's variables, each with those before it in place of $(NAME). What stands in a secret or a config
  // map is unknown, and so is what is made of it.
  void AddVariables(const Json& container, EnvVars* vars) {
    constexpr absl::string_view kUnknown("\0", 1);  // which no value can hold
    ForEachItem(At(container, {"env"}), [this, vars, kUnknown](const Json& entry) {
      const std::string name = Text(At(entry, {"name"}));
      const Json& value = At(entry, {"value"});
      if (name.empty() || (!value.IsString() && At(entry, {"valueFrom"}).IsNull())) return;
      (*vars)[name] = value.IsString() ? Expand(Text(value), *vars) : std::string(kUnknown);
    });
    for (auto it = vars->begin(); it != vars->end();) {
      it = absl::StrContains(it->second, kUnknown) ? vars->erase(it) : std::next(it);
    }
  }
  bool too_long() const { return too_long_; }
  bool holds_nul() const { return holds_nul_; }  // which no program can be given

 private:
  // Kubernetes' own $(NAME) in command, args and values; $$(NAME) is an escape, an unknown name stays as it is.
  std::string Expand(absl::string_view word, const EnvVars& vars) {
    std::string out;
    size_t end = 0;  // of the last name looked at: what has no end is looked for once
    for (size_t i = 0; i < word.size() && !too_long_; ++i) {
      absl::string_view next = word.substr(i, 1);
      if (absl::StartsWith(word.substr(i), "$$")) {
        ++i;
      } else if (absl::StartsWith(word.substr(i), "$(")) {
        if (end != absl::string_view::npos && end <= i) end = word.find(')', i);
        // A look-up compares what is between: of a name that is as long as the text, again at every "$(".
        const bool named = end != absl::string_view::npos && end - i - 2 <= kLongestName;
        const auto found = named ? vars.find(word.substr(i + 2, end - i - 2)) : vars.end();
        if (found != vars.end()) {
          next = found->second;
          i = end;
        }
      }
      too_long_ = next.size() > room_;
      if (too_long_) break;
      room_ -= next.size();
      absl::StrAppend(&out, next);
    }
    return out;
  }

  static constexpr size_t kLongestName = 256;  // of a variable: longer ones are left as they stand

  size_t room_ = kMaxLaunchBytes;
  bool too_long_ = false;
  bool holds_nul_ = false;
};

bool MayLaunch(absl::string_view line) { return absl::StrContains(line, ".py"); }

// ---- kinds

class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) { out_.kind = Text(At(object, {"kind"})); }

  Workload Read() {
    const std::string group = Group();
    if (out_.kind == "Job" && group == "batch") {
      ReadJob(object_, 1, "job");
    } else if (out_.kind == "PyTorchJob" && group == "kubeflow.org") {
      ReadReplicas("pytorchReplicaSpecs");
      NameProcesses(Count(At(object_, {"spec", "nprocPerNode"})));
    } else if (out_.kind == "MPIJob" && group == "kubeflow.org") {
      ReadReplicas("mpiReplicaSpecs");
    } else if (out_.kind == "TrainJob" && group == "trainer.kubeflow.org") {
      ReadTrainJob();
    } else if (out_.kind == "JobSet" && group == "jobset.x-k8s.io") {
      ForEachItem(At(object_, {"spec", "replicatedJobs"}), [this](const Json& job) {
        ReadJob(At(job, {"template"}), Count(At(job, {"replicas"})).value_or(1), Text(At(job, {"name"})));
      });
    } else if (out_.kind == "Job" && group == "batch.volcano.sh") {
      ForEachItem(At(object_, {"spec", "tasks"}), [this](const Json& task) {
        AddGroup(Text(At(task, {"name"})), Count(At(task, {"replicas"})).value_or(1), At(task, {"template", "spec"}));
      });
    } else if (out_.kind == "RayJob" && group == "ray.io") {
      ReadRayJob();
    } else {
      out_.skip = Skip{absl::StrCat("no launch is read from ", Printable(out_.kind), " of ", Printable(group))};
      return out_;
    }
    Finish();
    return std::move(out_);
  }

 private:
  std::string Group() const {
    const std::string version = Text(At(object_, {"apiVersion"}));
    return version.substr(0, version.find('/'));
  }

  void AddGroup(std::string role, std::optional<int64_t> pods, const Json& spec) {
    if (!spec.IsObject()) return;
    if (pods.has_value()) pods = std::min(*pods, kTooMany);
    groups_.push_back({std::move(role), pods, &spec, std::min(GpusPerPod(spec), kTooMany)});
  }

  void ReadJob(const Json& job, int64_t replicas, std::string role) {
    const std::optional<int64_t> pods = Count(At(job, {"spec", "parallelism"}));
    AddGroup(std::move(role), replicas * pods.value_or(1), At(job, {"spec", "template", "spec"}));
  }

  void ReadReplicas(const char* field) {
    const Json& specs = At(object_, {"spec", field});
    if (!specs.IsObject()) return;
    for (const auto& entry : specs.GetObject()) {
      AddGroup(Text(entry.name), Count(At(entry.value, {"replicas"})).value_or(1),
               At(entry.value, {"template", "spec"}));
    }
  }

  // spec.trainer overrides what a training runtime, which is another object, holds.
  void ReadTrainJob() {
    const Json& trainer = At(object_, {"spec", "trainer"});
    lines_.AddVariables(trainer, &out_.vars);
    line_ = lines_.Of(Words(At(trainer, {"command"})), Words(At(trainer, {"args"})), out_.vars);
    if (line_.empty()) out_.skip = Skip{"the launch stands in the training runtime, not in the TrainJob"};
    const std::optional<int64_t> nodes = Count(At(trainer, {"numNodes"}));
    for (const char* kind : {"limits", "requests"}) {
      const std::optional<int64_t> gpus = Count(At(trainer, {"resourcesPerNode", kind, "nvidia.com/gpu"}));
      if (gpus.has_value() && nodes.has_value() && !out_.gpus.has_value()) SetGpus(*gpus * *nodes);
    }
    if (nodes.has_value()) out_.vars.emplace("PET_NNODES", absl::StrCat(*nodes));
    const std::optional<int64_t> processes = Count(At(trainer, {"numProcPerNode"}));  // or "auto", "gpu"
    if (processes.has_value()) out_.vars.emplace("PET_NPROC_PER_NODE", absl::StrCat(*processes));
    for (const char* field : {"podSpecOverrides", "podTemplateOverrides"}) {
      ForEachItem(At(object_, {"spec", field}), [this](const Json& pods) {
        AddGpuLabels(pods, &labels_);
        AddGpuLabels(At(pods, {"spec"}), &labels_);
      });
    }
  }

  void ReadRayJob() {
    const Json& cluster = At(object_, {"spec", "rayClusterSpec"});
    AddGroup("head", 1, At(cluster, {"headGroupSpec", "template", "spec"}));
    ForEachItem(At(cluster, {"workerGroupSpecs"}), [this](const Json& group) {
      const int64_t hosts = Count(At(group, {"numOfHosts"})).value_or(1);
      AddGroup(Text(At(group, {"groupName"})), Count(At(group, {"replicas"})).value_or(1) * hosts,
               At(group, {"template", "spec"}));
    });
    line_ = Text(At(object_, {"spec", "entrypoint"}));  // shell already
    if (line_.empty()) out_.skip = Skip{"no entrypoint"};
    if (!groups_.empty()) lines_.AddVariables(First(At(*groups_[0].spec, {"containers"})), &out_.vars);
  }

  static const Json& First(const Json& list) { return list.IsArray() && !list.Empty() ? list[0] : Null(); }

  // What the PyTorchJob operator tells torchrun.
  void NameProcesses(std::optional<int64_t> per_node) {
    int64_t pods = 0;
    for (const PodGroup& group : groups_) pods += group.pods.value_or(0);
    if (pods == 0) return;
    operator_vars_["PET_NNODES"] = absl::StrCat(pods);
    if (per_node.has_value()) operator_vars_["PET_NPROC_PER_NODE"] = absl::StrCat(*per_node);
  }

  // The container that launches: in the group with the most GPUs, or in any where that one has no command.
  void FindLaunch() {
    std::vector<const PodGroup*> groups;
    for (const PodGroup& group : groups_) groups.push_back(&group);
    std::stable_sort(groups.begin(), groups.end(),
                     [](const PodGroup* a, const PodGroup* b) { return a->gpus > b->gpus; });
    bool referred = false;
    for (const PodGroup* group : groups) {
      ForEachItem(At(*group->spec, {"containers"}), [&](const Json& container) {
        if (!line_.empty()) return;
        EnvVars vars = out_.vars;
        lines_.AddVariables(container, &vars);
        vars.insert(operator_vars_.begin(), operator_vars_.end());
        const std::string line = lines_.Of(Words(At(container, {"command"})), Words(At(container, {"args"})), vars);
        referred = referred || !line.empty();
        if (!MayLaunch(line)) return;
        line_ = line;
        out_.vars = std::move(vars);
      });
    }
    if (line_.empty()) {
      out_.skip = Skip{referred ? "no command in it runs a Python file"
                                : "the image's own entry point launches, and it is not in the object"};
    }
  }

  void CountGpus() {
    int64_t total = 0;
    bool known = !groups_.empty();
    for (const PodGroup& group : groups_) {
      known = known && group.pods.has_value();
      total += group.gpus * group.pods.value_or(0);
      if (group.gpus > 0) AddGpuLabels(*group.spec, &labels_);
    }
    if (known) SetGpus(total);
  }

  void SetGpus(int64_t total) {
    if (total > 0 && total <= kMostPods) out_.gpus = total;
  }

  void Finish() {
    if (line_.empty() && !out_.skip.has_value()) FindLaunch();
    CountGpus();
    if (lines_.too_long()) {
      out_.skip = Skip{absl::StrCat("its command lines and variables have more than ", kMaxLaunchBytes >> 10, " KiB"),
                       /*unread=*/true};
    }
    if (lines_.holds_nul()) out_.skip = Skip{"its command line holds a NUL", /*unread=*/true};
    if (labels_.size() == 1) out_.gpu_label = *labels_.begin();
    if (!MayLaunch(line_) && !out_.skip.has_value()) out_.skip = Skip{"no command in it runs a Python file"};
    if (!out_.skip.has_value()) out_.script = line_;
  }

  const Json& object_;
  Workload out_;
  std::vector<PodGroup> groups_;
  std::set<std::string> labels_;
  EnvVars operator_vars_;
  CommandLines lines_;
  std::string line_;
};

}  // namespace

bool SameLaunch(const Workload& a, const Workload& b) {
  return a.kind == b.kind && a.script == b.script && a.skip == b.skip && a.gpus == b.gpus &&
         a.gpu_label == b.gpu_label && a.vars == b.vars;
}

Workload ReadWorkload(const rapidjson::Value& object) {
  if (!object.IsObject()) {
    Workload none;
    none.skip = Skip{"no object"};
    return none;
  }
  return Reader(object).Read();
}

}  // namespace flightplan::doors
