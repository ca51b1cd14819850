#include "resolver/normalize/judge_request.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/evidence/fitted_profile.h"
#include "resolver/normalize/environment_message.h"
#include "resolver/normalize/hardware_message.h"
#include "resolver/normalize/knobs_message.h"
#include "resolver/normalize/message_enum.h"
#include "resolver/normalize/profile_message.h"
#include "resolver/normalize/request_bounds.h"
#include "resolver/normalize/software_image.h"
#include "resolver/plan/reading.h"

namespace flightplan {
namespace {

ConfigInput ReadConfigInput(const v1::ValidateConfigRequest& request, Violations* violations) {
  ConfigInput input;
  CheckLength("input_format", request.input_format().size(), kMaxNameBytes, violations);
  input.format = request.input_format();
  switch (request.config_case()) {
    case v1::ValidateConfigRequest::kArguments:
      CheckCount("arguments.values", request.arguments().values_size(), kMaxWords, violations);
      input.arguments.assign(request.arguments().values().begin(), request.arguments().values().end());
      break;
    case v1::ValidateConfigRequest::kFile:
      CheckLength("file.name", request.file().name().size(), kMaxPathBytes, violations);
      input.form = ConfigInput::Form::kFile;
      input.file_name = request.file().name();
      input.text = request.file().text();
      // A shell reads such a text to another end than a person: no finding about it would be true.
      if (const size_t nul = input.text.find('\0'); nul != std::string::npos) {
        violations->Add("file.text", absl::StrCat("holds a NUL, byte ", nul, "; a launch is text"));
      }
      break;
    case v1::ValidateConfigRequest::kKnobs:
      input.form = ConfigInput::Form::kKnobs;
      if (!input.format.empty()) violations->Add("input_format", "is of arguments or a file: with knobs leave it out");
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

void ReadHardware(v1::Hardware hardware, const Catalog& catalog, UnknownGpus unknown_gpus, JudgeQuestion* question,
                  Violations* violations) {
  // A launch may say its size itself: no count is not a fault here.
  const bool counted = hardware.gpu_count() != 0;
  if (!counted) hardware.set_gpu_count(1);
  if (unknown_gpus == UnknownGpus::kNotJudged) question->gpu_fault = UnknownGpu(hardware.gpu(), catalog);
  if (!question->gpu_fault.empty()) {
    ReadUnknownGpu(hardware, &question->env, violations);
  } else {
    HardwareFacts facts = HardwareFromMessage(hardware, catalog, &question->env, violations);
    question->gpu = std::move(facts.gpu);
    question->transport = std::move(facts.transport);
    question->host_cpu = facts.host_cpu;
  }
  if (!counted) question->env.world_size.reset();
}

// The number of GPUs stands with the hardware, beside it, or in both as the same.
void ReadWorldSize(const v1::ValidateConfigRequest& request, Environment* env, Violations* violations) {
  if (!request.has_world_size()) return;
  CheckRange("world_size", request.world_size(), kMaxGpus, violations);
  const int64_t count = request.hardware().gpu_count();
  if (count != 0 && count != request.world_size()) {
    violations->Add("world_size", absl::StrCat("is ", request.world_size(), " beside hardware.gpu_count ", count,
                                               ": leave one of them out"));
  }
  env->world_size = request.world_size();
}

absl::StatusOr<JudgeQuestion> ReadQuestion(const v1::ValidateConfigRequest& request, const Catalog& catalog,
                                           UnknownGpus unknown_gpus) {
  JudgeQuestion question;
  question.catalog = &catalog;
  Environment& env = question.env;
  Violations violations;
  ReadTarget(request.target(), "target", &env, &violations);
  ReadSoftware(request.software(), &env, &violations);
  TakeVersionsOfImage(&env);
  question.software_stated = request.has_software();
  ReadVariables(request.env(), &env, &violations);
  ReadModelFiles(request.model_files(), &env, &violations);
  if (request.has_hardware()) ReadHardware(request.hardware(), catalog, unknown_gpus, &question, &violations);
  ReadWorldSize(request, &env, &violations);
  question.view = ReadEnum(request.view(), kViews, View::kFull, "view", &violations);
  const bool more = request.repair_convergence() || request.repair_room();
  if (more && !request.repair()) {
    violations.Add(request.repair_convergence() ? "repair_convergence" : "repair_room",
                   "says how to repair: it needs repair");
  }
  question.repair = request.repair();
  question.repair_convergence = request.repair_convergence();
  question.repair_room = request.repair_room();
  question.input = ReadConfigInput(request, &violations);
  std::optional<HardwareProfile> sent;
  if (request.has_probe_profile()) sent = ProfileFromMessage(request.probe_profile(), "probe_profile", &violations);
  question.stated = PinsFromMessages(v1::Knobs::default_instance(), request.stated_knobs(), "stated_knobs",
                                     "stated_knobs", &violations);
  CheckModelPins(question.stated, "stated_knobs", &violations);
  if (!question.stated.empty() && question.input.form == ConfigInput::Form::kKnobs) {
    violations.Add("stated_knobs", "stand beside arguments or a file; with knobs they belong into knobs.settings");
  }
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  if (sent.has_value()) question.sent_profile = FitProfile(*std::move(sent));
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
  ReadTarget(request.target(), "target", &question.target, &violations);
  TakeVersionsOfImage(&question.target);
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  return question;
}

}  // namespace flightplan
