#include "resolver/normalize/request.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/catalog/defaults.h"
#include "resolver/normalize/hf_import.h"
#include "resolver/normalize/knobs_message.h"
#include "resolver/normalize/model_message.h"
#include "resolver/normalize/profile_message.h"
#include "resolver/normalize/software_image.h"
#include "resolver/plan/model_fields.h"
#include "resolver/plan/pipeline_layout.h"
#include "resolver/plan/quantity.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

constexpr size_t kMaxEnvBytes = size_t{64} * 1024;
constexpr size_t kMaxNameBytes = 128;

// ---- target

// "0.19", "v0.19.0", "core_v0.19.0", "core-0.19" -> 19; "main", "" -> kMain; -1: does not read.
int ReadRelease(absl::string_view text) {
  if (text.empty() || text == "main" || text == "latest") return kMain;
  for (absl::string_view prefix : {"core_", "core-", "bridge-", "v"}) absl::ConsumePrefix(&text, prefix);
  const std::optional<Version> version = Version::Parse(text);
  if (!version.has_value() || version->parts[0] > 0) return version.has_value() ? kMain - 1 : -1;
  return std::min(version->parts[1], kMain - 1);
}

// ---- enums

// Reads a message enum through a table of the values it may have; anything else is a violation.
template <typename Message, typename Plain, size_t N>
Plain ReadEnum(Message value, const std::pair<Message, Plain> (&table)[N], Plain otherwise, absl::string_view field,
               Violations* violations) {
  for (const auto& [message, plain] : table) {
    if (value == message) return plain;
  }
  violations->Add(field, absl::StrCat("has no value ", static_cast<int>(value)));
  return otherwise;
}

constexpr std::pair<v1::Objective, Objective> kObjectives[] = {{v1::OBJECTIVE_UNSPECIFIED, Objective::kTraining},
                                                               {v1::OBJECTIVE_TRAINING, Objective::kTraining},
                                                               {v1::OBJECTIVE_BENCHMARK, Objective::kBenchmark}};
constexpr std::pair<v1::AnswerView, View> kViews[] = {{v1::ANSWER_VIEW_UNSPECIFIED, View::kFull},
                                                      {v1::ANSWER_VIEW_VERDICT, View::kVerdict},
                                                      {v1::ANSWER_VIEW_BASIC, View::kBasic},
                                                      {v1::ANSWER_VIEW_FULL, View::kFull}};
constexpr std::pair<v1::Stage, Stage> kStages[] = {{v1::STAGE_UNSPECIFIED, Stage::kProduction},
                                                   {v1::STAGE_BRING_UP, Stage::kBringUp},
                                                   {v1::STAGE_TUNE, Stage::kTune},
                                                   {v1::STAGE_PRODUCTION, Stage::kProduction}};
constexpr std::pair<v1::Wall, Wall> kWalls[] = {{v1::WALL_UNSPECIFIED, Wall::kUnknown},
                                                {v1::WALL_MEMORY, Wall::kMemory},
                                                {v1::WALL_COMMUNICATION, Wall::kCommunication},
                                                {v1::WALL_HOST, Wall::kHost},
                                                {v1::WALL_COMPUTE, Wall::kCompute}};
constexpr std::pair<v1::HostCpuClass, HostCpuClass> kHosts[] = {
    {v1::HOST_CPU_CLASS_UNSPECIFIED, HostCpuClass::kUnknown},
    {v1::HOST_CPU_CLASS_X86_FAST, HostCpuClass::kX86Fast},
    {v1::HOST_CPU_CLASS_X86_SLOW, HostCpuClass::kX86Slow},
    {v1::HOST_CPU_CLASS_ARM, HostCpuClass::kArm}};

// ---- workload

struct PrecisionName {
  const char* name;
  Precision precision;
};
constexpr PrecisionName kPrecisions[] = {{"bf16", Precision::kBf16},
                                         {"fp16", Precision::kFp16},
                                         {"fp8_cs", Precision::kFp8Tensorwise},
                                         {"fp8_tensorwise", Precision::kFp8Tensorwise},
                                         {"fp8_block", Precision::kFp8Blockwise},
                                         {"fp8_sc", Precision::kFp8Blockwise},
                                         {"fp8_blockwise", Precision::kFp8Blockwise},
                                         {"fp8_ds", Precision::kFp8Delayed},
                                         {"fp8_delayed", Precision::kFp8Delayed},
                                         {"mxfp8", Precision::kMxfp8},
                                         {"fp8_mx", Precision::kMxfp8},
                                         {"nvfp4", Precision::kNvfp4}};

constexpr absl::string_view kTransports[] = {"infiniband", "roce", "efa", "slingshot", "tcp"};

void CheckRange(absl::string_view field, int64_t value, int64_t high, Violations* violations) {
  if (value < 1 || value > high) violations->Add(field, absl::StrCat("must be 1..", high, ", not ", value));
}

Workload ReadWorkload(const v1::Workload& message, Violations* violations) {
  Workload workload;
  workload.seq_length = message.seq_length();
  workload.global_batch_size = message.global_batch_size();
  CheckRange("workload.seq_length", workload.seq_length, kMaxSeqLength, violations);
  CheckRange("workload.global_batch_size", workload.global_batch_size, kMaxBatchSize, violations);
  if (message.has_train_iters()) {
    workload.train_iters = message.train_iters();
    CheckRange("workload.train_iters", *workload.train_iters, int64_t{1} << 40, violations);
  }
  bool known = message.precision().empty();
  for (const PrecisionName& entry : kPrecisions) {
    if (message.precision() != entry.name) continue;
    workload.precision = entry.precision;
    known = true;
  }
  if (!known) {
    violations->Add("workload.precision",
                    absl::StrCat("'", Utf8Prefix(message.precision(), kMaxNameBytes),
                                 "' is not known; use bf16, fp16, fp8_cs, fp8_block, fp8_ds, mxfp8 or nvfp4"));
  }
  workload.objective =
      ReadEnum(message.objective(), kObjectives, Objective::kTraining, "workload.objective", violations);
  return workload;
}

// ---- layout

std::optional<int64_t> ReadSize(bool present, int64_t value, absl::string_view name, Violations* violations) {
  if (!present) return std::nullopt;
  CheckRange(absl::StrCat("layout.", name), value, kMaxParallelSize, violations);
  return value;
}

// Virtual stages are said by the layout, too; upstream would take the layout's word in silence.
void CheckStages(const LayoutWish& wish, Violations* violations) {
  if (!wish.virtual_pipeline_model_parallel_size.has_value() || !wish.pipeline_model_parallel_size.has_value()) return;
  const int64_t stages = *wish.pipeline_model_parallel_size, chunks = *wish.virtual_pipeline_model_parallel_size;
  const PipelineLayout layout = ParsePipelineLayout(Value(*wish.pipeline_model_parallel_layout), stages);
  if (layout.fault != PipelineLayout::Fault::kNone || layout.virtual_size == chunks) return;
  violations->Add("layout.virtual_pipeline_model_parallel_size",
                  absl::StrCat("is ", chunks, " beside a pipeline_model_parallel_layout of ", layout.stages.size(),
                               " stages, which on ", stages, " pipeline ranks are ", layout.virtual_size,
                               ": leave it out, or give a layout of ", chunks * stages, " stages"));
}

// ---- profile

std::optional<double> ReadRatio(bool present, double value, absl::string_view name, Violations* violations) {
  if (!present) return std::nullopt;
  if (!(value >= 0 && value <= 1)) {
    violations->Add(absl::StrCat("profile.", name), absl::StrCat("is a share of the step, 0..1, not ", value));
  }
  return value;
}

MeasuredProfile ReadProfile(const v1::MeasuredProfile& m, Violations* violations) {
  MeasuredProfile profile;
  if (m.has_step_time_us()) {
    const std::string fault = OutsideOf(kStepMicroseconds, m.step_time_us());
    if (!fault.empty()) violations->Add("profile.step_time_us", fault);
    profile.step_time_us = m.step_time_us();
  }
#define FLIGHTPLAN_READ_RATIO(name) profile.name = ReadRatio(m.has_##name(), m.name(), #name, violations)
  FLIGHTPLAN_READ_RATIO(exposed_communication_ratio);
  FLIGHTPLAN_READ_RATIO(exposed_all_to_all_ratio);
  FLIGHTPLAN_READ_RATIO(host_gap_ratio);
  FLIGHTPLAN_READ_RATIO(pipeline_bubble_ratio);
#undef FLIGHTPLAN_READ_RATIO
  if (m.has_memory_high_water_bytes()) {
    const auto bytes = static_cast<double>(m.memory_high_water_bytes());
    if (!(bytes >= 0 && bytes <= kGpuMemoryBytes.high)) {
      violations->Add("profile.memory_high_water_bytes",
                      absl::StrCat("must be 0..", kGpuMemoryBytes.high, " bytes of one GPU, not ", bytes));
    }
    profile.memory_high_water_bytes = m.memory_high_water_bytes();
  }
  profile.wall = ReadEnum(m.wall(), kWalls, Wall::kUnknown, "profile.wall", violations);
  return profile;
}

// ---- hardware and software

// Takes a stated quantity over the catalogue's.
void Override(bool present, double value, const Quantity& quantity, absl::string_view field,
              std::optional<double>* known, Violations* violations) {
  if (!present) return;
  const std::string fault = OutsideOf(quantity, value);
  if (!fault.empty()) violations->Add(field, fault);
  *known = value;
}

void ReadFabric(const v1::Fabric& m, GpuSystem* gpu, std::string* transport, Violations* violations) {
  if (m.has_nvlink_domain_gpu_count()) {
    CheckRange("hardware.fabric.nvlink_domain_gpu_count", m.nvlink_domain_gpu_count(), kMaxGpus, violations);
    gpu->nvlink_domain_gpus = m.nvlink_domain_gpu_count();
  }
  if (m.has_gpus_per_node_count()) {
    CheckRange("hardware.fabric.gpus_per_node_count", m.gpus_per_node_count(), kMaxGpusPerNode, violations);
    gpu->gpus_per_node = m.gpus_per_node_count();
  }
  Override(m.has_nvlink_bytes_per_second(), m.nvlink_bytes_per_second(), kBytesPerSecond,
           "hardware.fabric.nvlink_bytes_per_second", &gpu->nvlink_bytes_per_second, violations);
  Override(m.has_nic_bytes_per_second(), m.nic_bytes_per_second(), kBytesPerSecond,
           "hardware.fabric.nic_bytes_per_second", &gpu->nic_bytes_per_second, violations);
  if (m.has_hbm_bytes()) {
    const std::string fault = OutsideOf(kGpuMemoryBytes, static_cast<double>(m.hbm_bytes()));
    if (!fault.empty()) violations->Add("hardware.fabric.hbm_bytes", fault);
    gpu->hbm_bytes = m.hbm_bytes();
  }
  if (m.has_transport()) {
    *transport = m.transport();
    const auto* known = std::find(std::begin(kTransports), std::end(kTransports), absl::string_view(m.transport()));
    if (known == std::end(kTransports)) {
      violations->Add("hardware.fabric.transport", "must be infiniband, roce, efa, slingshot or tcp");
    }
  }
}

// Taken off what a step may use.
void ReadReserved(const v1::Hardware& m, GpuSystem* gpu, Violations* violations) {
  if (!m.has_reserved_bytes()) return;
  const auto bytes = static_cast<double>(m.reserved_bytes());
  if (!(bytes >= 0 && bytes <= kGpuMemoryBytes.high)) {
    violations->Add("hardware.reserved_bytes",
                    absl::StrCat("must be 0..", kGpuMemoryBytes.high, " bytes of one GPU, not ", bytes));
  } else if (gpu->hbm_bytes.has_value() && m.reserved_bytes() >= *gpu->hbm_bytes) {
    violations->Add("hardware.reserved_bytes",
                    absl::StrCat("must be below the GPU's memory, ", *gpu->hbm_bytes, " bytes, not ", bytes));
  } else {
    Reserve(m.reserved_bytes(), gpu);
  }
}

struct HardwareFacts {
  GpuSystem gpu;
  std::string transport;
  HostCpuClass host_cpu = HostCpuClass::kUnknown;
};

HardwareFacts ReadHardware(const v1::Hardware& m, const Catalog& catalog, Environment* env, Violations* violations) {
  HardwareFacts facts;
  if (m.gpu().empty()) {
    violations->Add("hardware.gpu", "is required: a name such as h100-sxm; ListGpus has them all");
  } else if (auto gpu = catalog.FindGpu(m.gpu()); gpu.ok()) {
    facts.gpu = **gpu;
  } else {
    // What is decided hangs on the GPU: there is no answer to half of the question.
    violations->Add("hardware.gpu",
                    absl::StrCat(gpu.status().message(),
                                 " (ListGpus has them all). A GPU of your own is described by its numbers in a site's "
                                 "catalogue; ValidateConfig judges a finished configuration without it"));
  }
  CheckRange("hardware.gpu_count", m.gpu_count(), kMaxGpus, violations);
  ReadFabric(m.fabric(), &facts.gpu, &facts.transport, violations);
  ReadReserved(m, &facts.gpu, violations);
  facts.host_cpu = ReadEnum(m.host_cpu_class(), kHosts, HostCpuClass::kUnknown, "hardware.host_cpu_class", violations);
  env->gpu_name = facts.gpu.device_name;
  env->cc_major = facts.gpu.cc_major;
  env->cc_minor = facts.gpu.cc_minor;
  env->nvlink_domain_gpus = static_cast<int>(facts.gpu.nvlink_domain_gpus);
  env->gpus_per_node = static_cast<int>(facts.gpu.gpus_per_node);
  env->world_size = m.gpu_count();
  return facts;
}

// What is wrong with a name that stands for no GPU of the catalogue; empty: nothing, or there is no name.
std::string UnknownGpu(const std::string& name, const Catalog& catalog) {
  if (name.empty() || name.size() > kMaxNameBytes) return "";
  const auto gpu = catalog.FindGpu(name);
  return gpu.ok() ? "" : std::string(gpu.status().message());
}

// A finished configuration is judged by its rules all the same; only what the caller states of the GPU is known.
void ReadUnknownGpu(const v1::Hardware& m, Environment* env, Violations* violations) {
  GpuSystem stated;
  std::string transport;
  CheckRange("hardware.gpu_count", m.gpu_count(), kMaxGpus, violations);
  ReadFabric(m.fabric(), &stated, &transport, violations);
  ReadReserved(m, &stated, violations);
  ReadEnum(m.host_cpu_class(), kHosts, HostCpuClass::kUnknown, "hardware.host_cpu_class", violations);
  if (m.fabric().has_nvlink_domain_gpu_count()) env->nvlink_domain_gpus = static_cast<int>(stated.nvlink_domain_gpus);
  if (m.fabric().has_gpus_per_node_count()) env->gpus_per_node = static_cast<int>(stated.gpus_per_node);
  env->world_size = m.gpu_count();
}

std::optional<Version> ReadVersion(bool present, const std::string& text, absl::string_view name,
                                   Violations* violations) {
  if (!present) return std::nullopt;
  std::optional<Version> version = text.size() <= kMaxNameBytes ? Version::Parse(text) : std::nullopt;
  if (!version.has_value()) {
    violations->Add(absl::StrCat("software.", name), "is not a version such as 2.12.0");
  }
  return version;
}

void ReadSoftware(const v1::SoftwareStack& m, Environment* env, Violations* violations) {
  env->te = ReadVersion(m.has_te_version(), m.te_version(), "te_version", violations);
  env->torch = ReadVersion(m.has_torch_version(), m.torch_version(), "torch_version", violations);
  env->te_stated = m.has_te_version();
  env->torch_stated = m.has_torch_version();
  env->cuda = ReadVersion(m.has_cuda_version(), m.cuda_version(), "cuda_version", violations);
  env->nccl = ReadVersion(m.has_nccl_version(), m.nccl_version(), "nccl_version", violations);
  if (m.has_driver_version()) env->packages["driver"] = m.driver_version();
  if (m.has_cudnn_version()) env->packages["cudnn"] = m.cudnn_version();
  if (m.packages_size() > kMaxEnvVars) violations->Add("software.packages", "has more than 1024 entries");
  for (const auto& [name, version] : m.packages()) env->packages[name] = version;
  if (m.has_paged_stash() && m.paged_stash()) env->capabilities.insert("paged_stash");
  if (!m.has_dispatchers()) return;
  env->capabilities_known = true;
  for (const std::string& backend : m.dispatchers().backends()) {
    if (backend != "deepep" && backend != "hybridep" && backend != "ncclep") {
      violations->Add("software.dispatchers.backends", absl::StrCat("'", Utf8Prefix(backend, kMaxNameBytes),
                                                                    "' is not known; use deepep, hybridep or ncclep"));
    }
    env->capabilities.insert(backend);
  }
  if (m.dispatchers().has_transport())
    env->capabilities.insert(absl::StrCat("transport=", m.dispatchers().transport()));
}

// Names as POSIX has them; values are never executed or expanded, only compared and printed quoted.
template <typename Map>
void ReadEnv(const Map& vars, absl::string_view field, Environment* env, Violations* violations) {
  if (vars.size() > kMaxEnvVars) violations->Add(field, "has more than 1024 entries");
  for (const auto& [name, value] : vars) {
    bool ok =
        !name.empty() && name.size() <= kMaxNameBytes && !absl::ascii_isdigit(static_cast<unsigned char>(name[0]));
    for (char c : name) ok = ok && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_');
    if (!ok)
      violations->Add(field, absl::StrCat("'", Utf8Prefix(name, kMaxNameBytes), "' is no environment variable name"));
    if (value.size() > kMaxEnvBytes)
      violations->Add(absl::StrCat(field, "[", Utf8Prefix(name, 128), "]"), "is longer than 64 KiB");
    env->vars[name] = value;
  }
}

void ReadDialects(const google::protobuf::RepeatedPtrField<std::string>& names, NormalizedIntent* intent,
                  Violations* violations) {
  static constexpr absl::string_view kKnown[] = {
      "megatron-lm", "megatron-lm-one-gpu", "megatron-bridge", "megatron-bridge-perf", "loongforge", "yaml", "json"};
  for (const std::string& name : names) {
    if (std::find(std::begin(kKnown), std::end(kKnown), absl::string_view(name)) == std::end(kKnown)) {
      violations->Add("dialects", absl::StrCat("'", Utf8Prefix(name, kMaxNameBytes),
                                               "' is not known; use megatron-lm, megatron-lm-one-gpu, megatron-bridge, "
                                               "megatron-bridge-perf, loongforge, yaml or json"));
    } else if (std::find(intent->dialects.begin(), intent->dialects.end(), name) == intent->dialects.end()) {
      intent->dialects.push_back(name);
    }
  }
}

// A pinned knob that says what the model is has the model's own upper end: formulas count with it.
void CheckModelPins(const std::vector<std::pair<Knob, Value>>& pins, absl::string_view path, Violations* violations) {
  for (const auto& [knob, value] : pins) {
    const ModelField* field = FindModelField(Name(knob));
    if (field == nullptr || !value.is_number() || field->max == 0 || value.real() <= static_cast<double>(field->max)) {
      continue;
    }
    violations->Add(absl::StrCat(path, ".", Name(knob)),
                    absl::StrCat("must be at most ", field->max, ", not ", value.ToText()));
  }
}

}  // namespace

ModelSpec NormalizeModel(const v1::ModelRef& ref, const Catalog& catalog, Violations* violations) {
  switch (ref.source_case()) {
    case v1::ModelRef::kName: {
      auto model = catalog.FindModel(ref.name());
      if (model.ok()) return **model;
      violations->Add("model.name", model.status());
      return {};
    }
    case v1::ModelRef::kHfConfigJson: {
      if (ref.hf_config_json().size() > kMaxHfConfigBytes) {
        violations->Add("model.hf_config_json", "is longer than 256 KiB");
        return {};
      }
      auto model = ImportHfConfig(ref.hf_config_json());
      if (model.ok()) return *std::move(model);
      violations->Add("model.hf_config_json", model.status());
      return {};
    }
    case v1::ModelRef::kSpec:
      return ModelFromMessage(ref.spec(), "model.spec", violations);
    case v1::ModelRef::SOURCE_NOT_SET:
      violations->Add("model", "is required: a catalogue name, a spec or a Hugging Face config.json");
  }
  return {};
}

LayoutWish NormalizeLayout(const v1::Layout& m, Violations* violations) {
  LayoutWish wish;
#define FLIGHTPLAN_READ_SIZE(name) wish.name = ReadSize(m.has_##name(), m.name(), #name, violations)
  FLIGHTPLAN_READ_SIZE(tensor_model_parallel_size);
  FLIGHTPLAN_READ_SIZE(pipeline_model_parallel_size);
  FLIGHTPLAN_READ_SIZE(virtual_pipeline_model_parallel_size);
  FLIGHTPLAN_READ_SIZE(context_parallel_size);
  FLIGHTPLAN_READ_SIZE(expert_model_parallel_size);
  FLIGHTPLAN_READ_SIZE(expert_tensor_parallel_size);
  FLIGHTPLAN_READ_SIZE(micro_batch_size);
#undef FLIGHTPLAN_READ_SIZE
  if (m.has_pipeline_model_parallel_layout()) {
    if (m.pipeline_model_parallel_layout().size() > kMaxEnvBytes) {
      violations->Add("layout.pipeline_model_parallel_layout", "is longer than 64 KiB");
    }
    wish.pipeline_model_parallel_layout = m.pipeline_model_parallel_layout();
    CheckStages(wish, violations);
  }
  if (m.has_sequence_parallel()) wish.sequence_parallel = m.sequence_parallel();
  return wish;
}

std::vector<absl::string_view> PrecisionNames() {
  std::vector<absl::string_view> names;
  for (const PrecisionName& row : kPrecisions) names.emplace_back(row.name);
  return names;
}

absl::Span<const absl::string_view> TransportNames() { return kTransports; }

void NormalizeTarget(const v1::TargetStack& message, absl::string_view field, Environment* env,
                     Violations* violations) {
  const Stack* const stack = FindStack(message.framework());
  if (stack == nullptr) {
    violations->Add(absl::StrCat(field, ".framework"),
                    message.framework().empty() ? absl::StrCat("is required: ", StackNames())
                                                : absl::StrCat("'", Utf8Prefix(message.framework(), kMaxNameBytes),
                                                               "' is not known; use ", StackNames()));
    return;
  }
  env->target = stack->target;
  const int wanted = message.version().size() <= kMaxNameBytes ? ReadRelease(message.version()) : -1;
  if (wanted < 0) {
    violations->Add(absl::StrCat(field, ".version"), "is not a release such as 0.19, nor main");
    return;
  }
  const int nearest = NearestRelease(*stack, wanted);
  if (nearest != wanted) env->unknown_version = message.version();
  env->*stack->release = nearest;
  env->core_release = stack->core_release(nearest);
}

absl::StatusOr<NormalizedIntent> NormalizeResolve(const v1::ResolveConfigRequest& request, const Catalog& catalog) {
  NormalizedIntent intent;
  Violations violations;
  intent.model = NormalizeModel(request.model(), catalog, &violations);
  HardwareFacts hardware = ReadHardware(request.hardware(), catalog, &intent.env, &violations);
  intent.gpu = std::move(hardware.gpu);
  intent.transport = std::move(hardware.transport);
  intent.host_cpu = hardware.host_cpu;
  intent.gpu_count = request.hardware().gpu_count();
  intent.workload = ReadWorkload(request.workload(), &violations);
  NormalizeTarget(request.target(), "target", &intent.env, &violations);
  ReadSoftware(request.software(), &intent.env, &violations);
  AssumeImage(request.software(), &intent);
  intent.stage = ReadEnum(request.stage(), kStages, Stage::kProduction, "stage", &violations);
  intent.layout = NormalizeLayout(request.layout(), &violations);
  intent.pins = PinsFromMessages(request.knobs(), request.pinned_knobs(), "knobs", "pinned_knobs", &violations);
  CheckModelPins(intent.pins, "pinned_knobs", &violations);
  ReadEnv(request.env(), "env", &intent.env, &violations);
  if (request.has_profile()) intent.profile = ReadProfile(request.profile(), &violations);
  if (request.has_probe_profile()) {
    intent.sent_profile = std::make_shared<const HardwareProfile>(
        ProfileFromMessage(request.probe_profile(), "probe_profile", &violations));
  }
  ReadDialects(request.dialects(), &intent, &violations);
  intent.view = ReadEnum(request.view(), kViews, View::kFull, "view", &violations);
  intent.env.mla = intent.model.is_mla();
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  return intent;
}

namespace {

void ReadModelFiles(const google::protobuf::RepeatedPtrField<v1::TextFile>& files, Environment* env,
                    Violations* violations) {
  constexpr int kMost = 64;
  constexpr size_t kMostBytes = size_t{1} << 20;
  if (files.size() > kMost) return violations->Add("model_files", absl::StrCat("holds more than ", kMost, " files"));
  size_t bytes = 0;
  for (int i = 0; i < files.size(); ++i) {
    const v1::TextFile& file = files[i];
    bytes += file.name().size() + file.text().size();
    if (bytes > kMostBytes) return violations->Add("model_files", "is longer than 1 MiB together");
    const std::string field = absl::StrCat("model_files[", i, "].name");
    if (file.name().empty()) {
      violations->Add(field, "is required: the path that the launch or another file writes");
    } else if (!env->model_files.emplace(file.name(), file.text()).second) {
      violations->Add(field, "names a file twice");
    }
  }
}

ConfigInput ReadConfigInput(const v1::ValidateConfigRequest& request, Violations* violations) {
  ConfigInput input;
  input.format = request.input_format();
  switch (request.config_case()) {
    case v1::ValidateConfigRequest::kArguments:
      input.arguments.assign(request.arguments().values().begin(), request.arguments().values().end());
      break;
    case v1::ValidateConfigRequest::kFile:
      input.form = ConfigInput::Form::kFile;
      input.file_name = request.file().name();
      input.text = request.file().text();
      break;
    case v1::ValidateConfigRequest::kKnobs:
      input.form = ConfigInput::Form::kKnobs;
      input.knobs = PinsFromMessages(request.knobs().knobs(), request.knobs().settings(), "knobs.knobs",
                                     "knobs.settings", violations);
      break;
    case v1::ValidateConfigRequest::CONFIG_NOT_SET:
      violations->Add("config", "is required: arguments, a file or knobs");
  }
  return input;
}

// Whether a name that stands for no GPU is refused, or leaves what hangs on the GPU unjudged.
enum class UnknownGpus { kRefused, kNotJudged };

absl::StatusOr<JudgeQuestion> ReadQuestion(const v1::ValidateConfigRequest& request, const Catalog& catalog,
                                           UnknownGpus unknown_gpus) {
  JudgeQuestion question;
  question.catalog = &catalog;
  Environment& env = question.env;
  Violations violations;
  NormalizeTarget(request.target(), "target", &env, &violations);
  ReadSoftware(request.software(), &env, &violations);
  question.software_stated = request.has_software();
  ReadEnv(request.env(), "env", &env, &violations);
  ReadModelFiles(request.model_files(), &env, &violations);
  if (request.has_hardware()) {
    // A launch may say its size itself: no count is not a fault here.
    v1::Hardware hardware = request.hardware();
    const bool counted = hardware.gpu_count() != 0;
    if (!counted) hardware.set_gpu_count(1);
    if (unknown_gpus == UnknownGpus::kNotJudged) question.gpu_fault = UnknownGpu(hardware.gpu(), catalog);
    if (!question.gpu_fault.empty()) {
      ReadUnknownGpu(hardware, &env, &violations);
    } else {
      question.gpu = ReadHardware(hardware, catalog, &env, &violations).gpu;
    }
    if (!counted) env.world_size.reset();
  } else if (request.has_world_size()) {
    CheckRange("world_size", request.world_size(), kMaxGpus, &violations);
    env.world_size = request.world_size();
  }
  question.view = ReadEnum(request.view(), kViews, View::kFull, "view", &violations);
  question.repair = request.repair();
  question.repair_convergence = request.repair_convergence();
  question.input = ReadConfigInput(request, &violations);
  question.stated = PinsFromMessages({}, request.stated_knobs(), "stated_knobs", "stated_knobs", &violations);
  CheckModelPins(question.stated, "stated_knobs", &violations);
  if (!question.stated.empty() && question.input.form == ConfigInput::Form::kKnobs) {
    violations.Add("stated_knobs", "stand beside arguments or a file; with knobs they belong into knobs.settings");
  }
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  return question;
}

}  // namespace

absl::StatusOr<JudgeQuestion> NormalizeValidate(const v1::ValidateConfigRequest& request, const Catalog& catalog) {
  return ReadQuestion(request, catalog, UnknownGpus::kNotJudged);
}

absl::StatusOr<ConvertQuestion> NormalizeConvert(const v1::ConvertConfigRequest& request, const Catalog& catalog) {
  Violations violations;
  if (!request.has_source()) violations.Add("source", "is required");
  if (!request.has_target()) violations.Add("target", "is required");
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  absl::StatusOr<JudgeQuestion> source = ReadQuestion(request.source(), catalog, UnknownGpus::kRefused);
  if (!source.ok()) return WithFieldsBelow("source", source.status());
  ConvertQuestion question{*std::move(source), {}};
  // The same machines and libraries, another stack.
  question.target = question.source.env;
  const Environment blank;
  question.target.core_release = blank.core_release;
  question.target.bridge_release = blank.bridge_release;
  question.target.unknown_version.clear();
  NormalizeTarget(request.target(), "target", &question.target, &violations);
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  return question;
}

}  // namespace flightplan
