#include "clients/cli/request.h"

#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/cli/request_words.h"
#include "clients/cli/text.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/bytes.h"
#include "resolver/base/status_macros.h"
#include "resolver/normalize/knobs_message.h"
#include "resolver/normalize/profile_message.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/knob_value.h"
#include "resolver/stacks/dialects.h"
#include "service/doors/review.h"

namespace flightplan::cli {
namespace {

absl::Status Wrong(absl::string_view flag, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(flag, " ", message));
}

// "NAME=VALUE"; the value may be empty.
absl::StatusOr<std::pair<std::string, std::string>> SplitAssignment(absl::string_view flag, absl::string_view text) {
  const size_t at = text.find('=');
  if (at == absl::string_view::npos || at == 0)
    return Wrong(flag, absl::StrCat("wants NAME=VALUE, not ", Quoted(text)));
  return std::make_pair(std::string(text.substr(0, at)), std::string(text.substr(at + 1)));
}

absl::StatusOr<Knob> KnownKnob(absl::string_view flag, absl::string_view name) {
  const std::optional<Knob> knob = FindKnob(name);
  if (knob.has_value()) return *knob;
  const absl::string_view nearest = NearestKnobName(name);
  return Wrong(flag, absl::StrCat("names no knob: ", Quoted(name),
                                  nearest.empty() ? "; flightplan knobs lists them"
                                                  : absl::StrCat("; did you mean ", nearest, "?")));
}

// The last word on each knob; --unset takes back an earlier --set of the same command line, else it pins None.
absl::StatusOr<std::vector<std::pair<Knob, Value>>> ReadPins(const std::vector<std::string>& pins) {
  std::vector<std::pair<Knob, Value>> read;
  for (const std::string& pin : pins) {
    const bool set = absl::StrContains(pin, '=');
    const absl::string_view flag = set ? "--set" : "--unset";
    const std::string name = pin.substr(0, pin.find('='));
    FLIGHTPLAN_ASSIGN_OR_RETURN(const Knob knob, KnownKnob(flag, name));
    Value value;
    if (set) {
      absl::StatusOr<Value> parsed = ParseKnobText(knob, absl::string_view(pin).substr(name.size() + 1));
      if (!parsed.ok()) return Wrong(flag, parsed.status().message());
      value = *std::move(parsed);
    }
    bool had = false;
    for (auto it = read.begin(); it != read.end();) {
      had = had || it->first == knob;
      it = it->first == knob ? read.erase(it) : it + 1;
    }
    if (set || !had) read.emplace_back(knob, std::move(value));
  }
  return read;
}

absl::Status AddAssignments(absl::string_view flag, const std::vector<std::string>& assignments,
                            google::protobuf::Map<std::string, std::string>* out) {
  for (const std::string& text : assignments) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(auto pair, SplitAssignment(flag, text));
    (*out)[pair.first] = std::move(pair.second);
  }
  return absl::OkStatus();
}

void FillTarget(const StackOptions& options, v1::TargetStack* target) {
  const std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(options.target, absl::MaxSplits('@', 1));
  target->set_framework(std::string(halves.first));
  target->set_version(std::string(halves.second));
}

absl::StatusOr<int32_t> Size(absl::string_view flag, int64_t value) {
  if (value > std::numeric_limits<int32_t>::max()) return Wrong(flag, absl::StrCat("is too large: ", value));
  return static_cast<int32_t>(value);
}

absl::Status FillHardware(const StackOptions& options, v1::Hardware* hardware) {
  hardware->set_gpu(options.gpu);
  if (options.gpus.has_value()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const int32_t count, Size("--gpus", *options.gpus));
    hardware->set_gpu_count(count);
  }
  if (options.nvlink_domain.has_value()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const int32_t count, Size("--nvlink-domain", *options.nvlink_domain));
    hardware->mutable_fabric()->set_nvlink_domain_gpu_count(count);
  }
  if (options.gpus_per_node.has_value()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const int32_t count, Size("--gpus-per-node", *options.gpus_per_node));
    hardware->mutable_fabric()->set_gpus_per_node_count(count);
  }
  if (!options.transport.empty()) hardware->mutable_fabric()->set_transport(options.transport);
  if (options.reserved_memory_gib.has_value()) {
    hardware->set_reserved_bytes(static_cast<int64_t>(*options.reserved_memory_gib * kGib));
  }
  if (options.host_memory_gib.has_value()) {
    hardware->set_host_memory_bytes(static_cast<int64_t>(*options.host_memory_gib * kGib));
  }
  hardware->set_host_cpu_class(ValueOf(kHostCpus, options.host_cpu));
  return absl::OkStatus();
}

// "none": nothing beyond alltoall and allgather is installed, which differs from not saying anything.
absl::Status FillCapabilities(const StackOptions& options, v1::SoftwareStack* software) {
  bool none = false;
  for (const std::string& name : options.capabilities) {
    if (name == "paged_stash") {
      software->set_paged_stash(true);
    } else if (name == "deepep" || name == "hybridep" || name == "ncclep") {
      software->mutable_dispatchers()->add_backends(name);
    } else if (name == "none") {
      software->mutable_dispatchers();
      none = true;
    } else {
      return Wrong("--capability",
                   absl::StrCat("wants deepep, hybridep, ncclep, paged_stash or none, not ", Quoted(name)));
    }
  }
  if (none && software->dispatchers().backends_size() > 0) {
    return Wrong("--capability", "has none beside what is installed");
  }
  if (!options.dispatcher_transport.empty()) {
    software->mutable_dispatchers()->set_transport(options.dispatcher_transport);
  }
  return absl::OkStatus();
}

absl::Status FillSoftware(const StackOptions& options, v1::SoftwareStack* software) {
  if (options.te.has_value()) software->set_te_version(*options.te);
  if (options.torch.has_value()) software->set_torch_version(*options.torch);
  if (options.cuda.has_value()) software->set_cuda_version(*options.cuda);
  if (options.nccl.has_value()) software->set_nccl_version(*options.nccl);
  if (options.driver.has_value()) software->set_driver_version(*options.driver);
  FLIGHTPLAN_RETURN_IF_ERROR(AddAssignments("--package", options.packages, software->mutable_packages()));
  return FillCapabilities(options, software);
}

// A name of the catalogue never has a slash or ends in ".json".
bool LooksLikeFile(absl::string_view model) {
  return model == "-" || absl::EndsWith(model, ".json") || absl::StrContains(model, '/');
}

// "Qwen/Qwen3-30B-A3B", where there is no such file: what the Hugging Face hub calls a model.
bool MayBeOfTheHub(const std::string& model) {
  const bool path = absl::StartsWith(model, "/") || absl::StartsWith(model, ".") || absl::EndsWith(model, "/");
  if (path || absl::EndsWith(model, ".json") || std::count(model.begin(), model.end(), '/') != 1) return false;
  struct stat info {};
  return stat(model.c_str(), &info) != 0;
}

absl::StatusOr<std::string> ReadNamed(const FileReader& read, const std::string& path) {
  return read ? read(path) : ReadInput(path);
}

// Takes back what a flag said of the knob. Not of --seq and --gbs: a pin is over them.
void TakeBack(Knob knob, ResolveOptions* options) {
  for (const SizeFlag& row : kSizeFlags) {
    if (row.knob == knob) (options->*row.size).reset();
  }
  if (knob == Knob::train_iters) options->iterations.reset();
  if (knob == Knob::pipeline_model_parallel_layout) options->pipeline_layout.clear();
}

// "--tp 2": what the knob's own flag said; empty: nothing.
std::string SaidByFlag(Knob knob, const ResolveOptions& options) {
  const auto said = [](absl::string_view flag, const std::optional<int64_t>& value) {
    return value.has_value() ? absl::StrCat(flag, " ", *value) : "";
  };
  for (const SizeFlag& row : kSizeFlags) {
    if (row.knob == knob) return said(row.flag, options.*row.size);
  }
  if (knob == Knob::seq_length) return said("--seq", options.seq);
  if (knob == Knob::global_batch_size) return said("--gbs", options.gbs);
  const bool layout = knob == Knob::pipeline_model_parallel_layout && !options.pipeline_layout.empty();
  return layout ? absl::StrCat("--pipeline-layout ", options.pipeline_layout) : "";
}

// A printed fix stands behind the question's own words and is spelt by the flag, where a knob has one: so the flag may
// come last and say something else, --set may not, but for None, which no flag can say.
absl::Status CheckOneWord(Knob knob, absl::string_view pin, const ResolveOptions& options) {
  const size_t at = pin.find('=');
  if (at == absl::string_view::npos) return absl::OkStatus();
  const std::string said = SaidByFlag(knob, options);
  const absl::StatusOr<Value> set = ParseKnobText(knob, pin.substr(at + 1));
  if (said.empty() || !set.ok() || set->is_none()) return absl::OkStatus();
  const absl::StatusOr<Value> flag = ParseKnobText(knob, absl::string_view(said).substr(said.find(' ') + 1));
  if (!flag.ok() || *flag == *set) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--set ", pin, " contradicts ", said, ": both are the word on ", Name(knob), "; keep one of them"));
}

// Each knob said by its flag or by --set and --unset, whichever came last.
absl::StatusOr<ResolveOptions> LastWords(ResolveOptions options) {
  std::vector<std::string> pins;
  for (size_t i = 0; i < options.stack.pins.size(); ++i) {
    const std::string& pin = options.stack.pins[i];
    const std::optional<Knob> knob = FindKnob(pin.substr(0, pin.find('=')));
    const auto flag = knob.has_value() ? options.pins_before.find(*knob) : options.pins_before.end();
    if (flag != options.pins_before.end()) {
      if (i < flag->second) continue;
      FLIGHTPLAN_RETURN_IF_ERROR(CheckOneWord(*knob, pin, options));
      TakeBack(*knob, &options);
    }
    pins.push_back(pin);
  }
  options.stack.pins = std::move(pins);
  return options;
}

// What --set says of a knob that the workload has too, else a default.
int64_t Pinned(Knob knob, const google::protobuf::RepeatedPtrField<v1::KnobSetting>& pins, int64_t otherwise) {
  for (const v1::KnobSetting& pin : pins) {
    if (FindKnob(pin.name()) == knob && pin.value().int_value() != 0) return pin.value().int_value();
  }
  return otherwise;
}

void FillWorkload(const ResolveOptions& options, const google::protobuf::RepeatedPtrField<v1::KnobSetting>& pins,
                  v1::Workload* workload) {
  const int64_t samples = kDefaultSamplesPerGpu * options.stack.gpus.value_or(0);
  workload->set_seq_length(options.seq.has_value() ? *options.seq : Pinned(Knob::seq_length, pins, kDefaultSeqLength));
  workload->set_global_batch_size(options.gbs.has_value() ? *options.gbs
                                                          : Pinned(Knob::global_batch_size, pins, samples));
  workload->set_precision(options.precision);
  workload->set_objective(ValueOf(kObjectives, options.objective));
  if (options.iterations.has_value()) workload->set_train_iters(*options.iterations);
}

void FillProfile(const ResolveOptions& options, v1::ResolveConfigRequest* request) {
  const auto fill = [request](const std::optional<double>& value, void (v1::MeasuredProfile::*set)(double),
                              double scale) {
    if (value.has_value()) (request->mutable_profile()->*set)(*value * scale);
  };
  fill(options.profile_step_ms, &v1::MeasuredProfile::set_step_time_us, 1000);
  fill(options.profile_exposed, &v1::MeasuredProfile::set_exposed_communication_ratio, 1);
  fill(options.profile_a2a, &v1::MeasuredProfile::set_exposed_all_to_all_ratio, 1);
  fill(options.profile_host, &v1::MeasuredProfile::set_host_gap_ratio, 1);
  fill(options.profile_bubble, &v1::MeasuredProfile::set_pipeline_bubble_ratio, 1);
  if (options.profile_memory_gib.has_value()) {
    request->mutable_profile()->set_memory_high_water_bytes(static_cast<int64_t>(*options.profile_memory_gib * kGib));
  }
  if (!options.profile_wall.empty()) request->mutable_profile()->set_wall(ValueOf(kWalls, options.profile_wall));
}

template <class Request>
absl::Status FillProbeProfile(const StackOptions& options, const FileReader& read, Request* request) {
  if (options.probe_profile.empty()) return absl::OkStatus();
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string text, ReadNamed(read, options.probe_profile));
  const absl::Status status = ProfileFromJson(text, request->mutable_probe_profile());
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--profile: ", options.probe_profile, ": ", status.message()));
}

}  // namespace

absl::Status FillModel(const ResolveOptions& options, v1::ModelRef* ref) {
  if (!LooksLikeFile(options.model)) {
    ref->set_name(options.model);
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> text = ReadNamed(options.read, options.model);
  if (!text.ok() && MayBeOfTheHub(options.model)) {
    ref->set_name(options.model);
    return absl::OkStatus();
  }
  if (!text.ok()) return Wrong("--model", text.status().message());
  ref->set_hf_config_json(*std::move(text));
  return absl::OkStatus();
}

absl::Status FillLayout(const ResolveOptions& options, v1::Layout* layout) {
  for (const SizeFlag& row : kSizeFlags) {
    const std::optional<int64_t>& given = options.*row.size;
    if (!given.has_value()) continue;
    FLIGHTPLAN_ASSIGN_OR_RETURN(const int32_t size, Size(row.flag, *given));
    (layout->*row.set)(size);
  }
  if (!options.pipeline_layout.empty()) layout->set_pipeline_model_parallel_layout(options.pipeline_layout);
  return absl::OkStatus();
}

absl::Status BuildResolveRequest(const ResolveOptions& given, v1::ResolveConfigRequest* request) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const ResolveOptions options, LastWords(given));
  if (options.model.empty())
    return Wrong("--model", "is missing: a catalogue name (flightplan models) or a config.json");
  if (options.stack.gpu.empty()) return Wrong("--gpu", "is missing: the GPU system; flightplan gpus lists them");
  if (!options.stack.gpus.has_value()) return Wrong("--gpus", "is missing: how many GPUs the job has");
  FLIGHTPLAN_RETURN_IF_ERROR(FillModel(options, request->mutable_model()));
  FLIGHTPLAN_RETURN_IF_ERROR(FillHardware(options.stack, request->mutable_hardware()));
  FLIGHTPLAN_RETURN_IF_ERROR(FillSoftware(options.stack, request->mutable_software()));
  FLIGHTPLAN_RETURN_IF_ERROR(FillLayout(options, request->mutable_layout()));
  FLIGHTPLAN_RETURN_IF_ERROR(AddPins(options.stack.pins, request->mutable_pinned_knobs()));
  FLIGHTPLAN_RETURN_IF_ERROR(AddAssignments("--env", options.stack.env, request->mutable_env()));
  FillTarget(options.stack, request->mutable_target());
  if (absl::StartsWith(options.stack.target, "@")) request->mutable_target()->set_framework(StackOptions().target);
  FillWorkload(options, request->pinned_knobs(), request->mutable_workload());
  FillProfile(options, request);
  FLIGHTPLAN_RETURN_IF_ERROR(FillProbeProfile(options.stack, options.read, request));
  request->set_stage(ValueOf(kStages, options.stage));
  return absl::OkStatus();
}

absl::Status AddPins(const std::vector<std::string>& pins, google::protobuf::RepeatedPtrField<v1::KnobSetting>* out) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const auto read, ReadPins(pins));
  for (const auto& [knob, value] : read) {
    v1::KnobSetting* setting = out->Add();
    setting->set_name(std::string(Name(knob)));
    ValueToMessage(value, setting->mutable_value());
  }
  return absl::OkStatus();
}

std::string StatedText(const v1::ValidateConfigRequest& request) {
  std::vector<std::string> words;
  Violations ignored;  // the values are of our own making
  for (const v1::KnobSetting& setting : request.stated_knobs()) {
    words.push_back(absl::StrCat(setting.name(), "=", ValueFromMessage(setting.value(), "", &ignored).ToText()));
  }
  return words.empty() ? "" : absl::StrCat(" with ", absl::StrJoin(words, ", "), " (not in the text)");
}

void FillFramework(v1::ValidateConfigRequest* request) {
  if (!request->target().framework().empty()) return;
  std::optional<Target> stack;
  if (request->has_file()) {
    EnvVars vars;
    for (const auto& [name, value] : request->env()) vars.emplace(name, value);
    stack = doors::StackOfText(request->file().name(), request->file().text(), vars);
  }
  request->mutable_target()->set_framework(std::string(OwnDialect(stack.value_or(Target()))));
}

absl::Status BuildValidateRequest(const StackOptions& options, const FileReader& read,
                                  v1::ValidateConfigRequest* request) {
  if (!options.gpu.empty()) {
    FLIGHTPLAN_RETURN_IF_ERROR(FillHardware(options, request->mutable_hardware()));
  } else if (options.gpus.has_value()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const int32_t count, Size("--gpus", *options.gpus));
    request->set_world_size(count);
  }
  FLIGHTPLAN_RETURN_IF_ERROR(FillSoftware(options, request->mutable_software()));
  FLIGHTPLAN_RETURN_IF_ERROR(AddAssignments("--env", options.env, request->mutable_env()));
  FillTarget(options, request->mutable_target());
  return FillProbeProfile(options, read, request);
}

}  // namespace flightplan::cli
