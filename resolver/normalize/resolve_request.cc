#include "resolver/normalize/resolve_request.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/evidence/fitted_profile.h"
#include "resolver/normalize/environment_message.h"
#include "resolver/normalize/hardware_message.h"
#include "resolver/normalize/knobs_message.h"
#include "resolver/normalize/layout_message.h"
#include "resolver/normalize/measured_profile.h"
#include "resolver/normalize/message_enum.h"
#include "resolver/normalize/model_reference.h"
#include "resolver/normalize/profile_message.h"
#include "resolver/normalize/request_bounds.h"
#include "resolver/normalize/software_image.h"
#include "resolver/normalize/workload_message.h"
#include "resolver/plan/model_fields.h"
#include "resolver/plan/partial_nodes.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

constexpr std::pair<v1::Stage, Stage> kStages[] = {{v1::STAGE_UNSPECIFIED, Stage::kProduction},
                                                   {v1::STAGE_BRING_UP, Stage::kBringUp},
                                                   {v1::STAGE_TUNE, Stage::kTune},
                                                   {v1::STAGE_PRODUCTION, Stage::kProduction}};

void ReadDialects(const google::protobuf::RepeatedPtrField<std::string>& names, NormalizedIntent* intent,
                  Violations* violations) {
  static constexpr absl::string_view kKnown[] = {
      "megatron-lm", "megatron-lm-one-gpu", "megatron-bridge", "megatron-bridge-perf", "loongforge", "yaml", "json"};
  CheckCount("dialects", names.size(), kMaxChoices, violations);
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

// What the import of a config.json could not take as the file says it.
Finding ImportFinding(absl::string_view note) {
  Finding finding;
  finding.rule_id = "decide.model-import";
  finding.area = "model";
  finding.severity = Severity::kInfo;
  finding.verdict = Verdict::kAdvice;
  finding.stage = "decide";
  finding.seen = absl::StrCat("config.json: ", note);
  finding.source = "Flightplan's reading of Hugging Face's config.json";
  return finding;
}

// What no source states of a model of the catalogue: the launch leaves it to upstream's own default, which may build
// another model. Where the model comes from its folder or its converter, nothing is left to a default.
void SayUnverified(NormalizedIntent* intent) {
  const Stack& stack = StackOf(intent->env);
  if (stack.hf_models || stack.container) return;
  std::vector<std::string> open;
  for (const std::string& name : intent->model.unverified) {
    const std::optional<Knob> knob = FindKnob(name);
    const ModelField* const field = FindModelField(name);
    if (!knob.has_value() || field == nullptr || *knob == Knob::max_position_embeddings) continue;  // a bound alone
    const bool pinned =
        std::any_of(intent->pins.begin(), intent->pins.end(), [knob](const auto& pin) { return pin.first == *knob; });
    // A message has no word for a switch that is not known: it is off there.
    const Value said = GetField(*field, intent->model);
    const bool unsaid = said.is_none() || (said.is_bool() && !said.truthy());
    if (!pinned && unsaid) open.push_back(name);
  }
  if (open.empty()) return;
  Finding finding;
  finding.rule_id = "decide.model-unverified";
  finding.area = "model";
  finding.severity = Severity::kWarning;
  finding.verdict = Verdict::kAdvice;
  finding.stage = "decide";
  finding.seen = absl::StrCat("not known of ", intent->model.name, ": ", absl::StrJoin(open, ", "));
  finding.needs =
      "set each as the model's config.json says (--set NAME=VALUE, pinned_knobs), or give that file as the "
      "model: the launch leaves them to upstream's defaults";
  finding.source = "Flightplan's catalogue of models";
  intent->findings.push_back(std::move(finding));
}

// Positions that the model was not trained for: its launch raises them to the sequence.
void SayRaisedPositions(NormalizedIntent* intent) {
  const std::optional<int64_t>& positions = intent->model.max_position_embeddings;
  const int64_t sequence = intent->workload.seq_length;
  if (!positions.has_value() || sequence <= *positions) return;
  for (const auto& [pin, value] : intent->pins) {
    if (pin == Knob::max_position_embeddings) return;
  }
  Finding finding;
  finding.rule_id = "decide.positions-raised";
  finding.area = "model";
  finding.severity = Severity::kInfo;
  finding.verdict = Verdict::kAdvice;
  finding.stage = "decide";
  finding.observed = {{"seq_length", Value(sequence)}, {"max_position_embeddings", Value(*positions)}};
  finding.seen = absl::StrCat("seq_length=", sequence, ", and ", intent->model.name, " has ", *positions, " positions");
  finding.needs =
      "max_position_embeddings is raised to the sequence; the model has not seen such positions, so train it "
      "on them or scale them";
  finding.source = "Flightplan's catalogue of models, or the model's config.json";
  intent->findings.push_back(std::move(finding));
}

// A launch starts as many ranks on every node, so that nodes are left part empty, and what is forecast of their links
// is that of whole ones.
void SayPartialNodes(NormalizedIntent* intent) {
  const int64_t node = intent->gpu.gpus_per_node, gpus = intent->gpu_count;
  if (node <= 1 || gpus <= node || gpus % node == 0) return;
  const int64_t started = RanksPerNode(gpus, node);
  Finding finding;
  finding.rule_id = kPartialNodes;
  finding.area = "environment";
  finding.severity = Severity::kWarning;
  finding.verdict = Verdict::kAdvice;
  finding.stage = "decide";
  finding.observed = {{"hardware.gpu_count", Value(gpus)}, {"hardware.fabric.gpus_per_node_count", Value(node)}};
  finding.seen = absl::StrCat(gpus, " GPUs are no whole nodes of ", node, ": the launch starts ", gpus / started,
                              " nodes with ", started, started == 1 ? " GPU" : " GPUs", " each");
  finding.needs = absl::StrCat("a multiple of ", node, " GPUs; or --gpus-per-node ", started,
                               " (hardware.fabric.gpus_per_node_count), for the forecast to count such nodes, too");
  finding.source = "torchrun: --nproc-per-node is the same on every node";
  intent->findings.push_back(std::move(finding));
}

// The field that pins a knob: "pinned_knobs[2]", else "knobs.seq_length".
std::string FieldOfPin(const v1::ResolveConfigRequest& request, Knob knob) {
  for (int i = 0; i < request.pinned_knobs_size(); ++i) {
    if (FindKnob(request.pinned_knobs(i).name()) == knob) return absl::StrCat("pinned_knobs[", i, "]");
  }
  return absl::StrCat("knobs.", Name(knob));
}

// A pin that says something else than the layout is a contradiction; None, which no such message can say, goes over it.
// Over the workload any pin goes, as TakePins has it: a fix of the batch is applied as one.
void CheckPinsAgree(const v1::ResolveConfigRequest& request, const NormalizedIntent& intent, Violations* violations) {
  const auto check = [&](Knob knob, const Value& said) {
    for (const auto& [pin, value] : intent.pins) {
      if (pin != knob || value.is_none() || value == said) continue;
      violations->Add(FieldOfPin(request, knob), absl::StrCat(Name(knob), " is ", value.ToText(), " here and ",
                                                              said.ToText(), " in layout: keep one of them"));
    }
  };
  const LayoutWish& layout = intent.layout;
  for (const SizeWish& size : kSizeWishes) {
    if (const auto& wish = layout.*size.wish; wish.has_value()) check(size.knob, Value(*wish));
  }
  if (layout.pipeline_model_parallel_layout.has_value()) {
    check(Knob::pipeline_model_parallel_layout, Value(*layout.pipeline_model_parallel_layout));
  }
  if (layout.sequence_parallel.has_value()) check(Knob::sequence_parallel, Value(*layout.sequence_parallel));
}

// What is decided, searched and forecast is the workload that the configuration has.
void TakePins(const v1::ResolveConfigRequest& request, const NormalizedIntent& intent, Workload* workload,
              Violations* violations) {
  const auto take = [&](Knob knob, int64_t max, int64_t* size) {
    for (const auto& [pin, value] : intent.pins) {
      if (pin != knob || !value.is_int()) continue;
      *size = value.integer();
      if (*size >= 1 && *size <= max) continue;
      violations->Add(FieldOfPin(request, knob), absl::StrCat(Name(knob), " must be 1..", max, ", not ", *size));
    }
  };
  for (const SizeWish& size : kSizeWishes) {
    int64_t pinned = 0;
    take(size.knob, kMaxParallelSize, &pinned);
  }
  for (const WorkloadSize& of : kWorkloadSizes) {
    take(of.knob, of.knob == Knob::seq_length ? kMaxSeqLength : kMaxBatchSize, &(workload->*of.size));
  }
}

}  // namespace

absl::StatusOr<NormalizedIntent> NormalizeResolve(const v1::ResolveConfigRequest& request, const Catalog& catalog) {
  NormalizedIntent intent;
  Violations violations;
  std::vector<std::string> notes;
  intent.model = ModelFromReference(request.model(), catalog, &notes, &violations);
  for (const std::string& note : notes) intent.findings.push_back(ImportFinding(note));
  HardwareFacts hardware = HardwareFromMessage(request.hardware(), catalog, &intent.env, &violations);
  intent.gpu = std::move(hardware.gpu);
  intent.transport = std::move(hardware.transport);
  intent.host_cpu = hardware.host_cpu;
  intent.gpu_count = request.hardware().gpu_count();
  intent.workload = WorkloadFromMessage(request.workload(), &violations);
  ReadTarget(request.target(), "target", &intent.env, &violations);
  ReadSoftware(request.software(), &intent.env, &violations);
  AssumeImage(&intent);
  SayPartialNodes(&intent);
  intent.stage = ReadEnum(request.stage(), kStages, Stage::kProduction, "stage", &violations);
  intent.layout = LayoutFromMessage(request.layout(), &violations);
  intent.pins = PinsFromMessages(request.knobs(), request.pinned_knobs(), "knobs", "pinned_knobs", &violations);
  SayUnverified(&intent);
  CheckModelPins(intent.pins, "pinned_knobs", &violations);
  CheckPinsAgree(request, intent, &violations);
  LeaveToPins(intent.pins, &intent.layout);
  for (auto& [knob, value] : intent.pins) {  // no interleaving, as the layout's 1 is (derive/start_config.cc)
    if (knob == Knob::virtual_pipeline_model_parallel_size && value == Value(1)) value = Value();
  }
  TakePins(request, intent, &intent.workload, &violations);
  SayRaisedPositions(&intent);
  CheckStages(intent.layout, &violations);
  ReadVariables(request.env(), &intent.env, &violations);
  if (request.has_profile()) intent.profile = MeasuredProfileFromMessage(request.profile(), intent.gpu, &violations);
  if (intent.profile.has_value() && intent.profile->pipeline_bubble_ratio > 0 &&
      intent.layout.pipeline_model_parallel_size == 1) {
    violations.Add("profile.pipeline_bubble_ratio",
                   "one pipeline stage (--pp 1) has no bubble: leave it out, or give the stages it was measured with");
  }
  std::optional<HardwareProfile> sent;
  if (request.has_probe_profile()) sent = ProfileFromMessage(request.probe_profile(), "probe_profile", &violations);
  ReadDialects(request.dialects(), &intent, &violations);
  intent.view = ReadEnum(request.view(), kViews, View::kFull, "view", &violations);
  intent.env.mla = intent.model.is_mla();
  NameModel(intent.model, &intent.env);
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  if (sent.has_value()) intent.sent_profile = FitProfile(*std::move(sent));
  return intent;
}

}  // namespace flightplan
