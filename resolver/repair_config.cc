#include "resolver/repair_config.h"

#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/answer/response.h"
#include "resolver/base/status_macros.h"
#include "resolver/engine/repair.h"
#include "resolver/normalize/knobs_message.h"
#include "resolver/render/edit_launch.h"
#include "resolver/render/input_format.h"
#include "resolver/resolver.h"

namespace flightplan {
namespace {

// The request with the repaired configuration; what has no place in it into *unwritten.
v1::ValidateConfigRequest Repaired(const v1::ValidateConfigRequest& request, const Reading& reading, const Patch& patch,
                                   const Environment& env, Patch* unwritten) {
  v1::ValidateConfigRequest repaired = request;
  repaired.clear_repair();
  repaired.set_input_format(request.has_knobs() ? "" : reading.format);  // the repair must not change how it is read
  const WrittenLaunch launch{reading.args, reading.parsed.knobs};
  if (request.has_arguments()) {
    EditedArguments edited = EditArguments(launch, patch, env);
    repaired.mutable_arguments()->clear_values();
    for (std::string& arg : edited.args) repaired.mutable_arguments()->add_values(std::move(arg));
    *unwritten = std::move(edited.unwritten);
  } else if (request.has_file()) {
    const bool shell = reading.format == kShellFormat;
    const InputFormat* format = FindInputFormat(reading.format, env.target);
    const bool yaml = format != nullptr && format->file != nullptr;
    EditedText edited = yaml ? EditYaml(request.file().text(), reading.parsed.knobs, patch, env)
                             : EditArgumentFile(request.file().text(), launch, patch, env, shell);
    repaired.mutable_file()->set_text(std::move(edited.text));
    *unwritten = std::move(edited.unwritten);
  } else {
    for (const Assignment& assignment : patch) {
      if (!assignment.env_var.empty()) {
        unwritten->push_back(assignment);
        continue;
      }
      // Among typed and named knobs one word holds for each: the new value replaces both.
      const std::string name(Name(assignment.knob));
      auto* settings = repaired.mutable_knobs()->mutable_settings();
      for (int i = settings->size(); i-- > 0;) {
        if (FindKnob(settings->Get(i).name()) == assignment.knob) settings->DeleteSubrange(i, 1);
      }
      const auto* field = repaired.knobs().knobs().GetDescriptor()->FindFieldByName(name);
      if (field != nullptr)
        repaired.mutable_knobs()->mutable_knobs()->GetReflection()->ClearField(
            repaired.mutable_knobs()->mutable_knobs(), field);
      v1::KnobSetting* setting = settings->Add();
      setting->set_name(name);
      ValueToMessage(assignment.value, setting->mutable_value());
    }
  }
  return repaired;
}

}  // namespace

absl::Status RepairConfig(const Resolver& resolver, const v1::ValidateConfigRequest& request, const Reading& reading,
                          const Config& written, const Environment& env, v1::Repair* repair) {
  const Repair found = FindRepair(written, env, {request.repair_convergence()});
  Patch unwritten;
  v1::ValidateConfigRequest repaired = Repaired(request, reading, found.patch, env, &unwritten);
  for (const Assignment& assignment : unwritten) {  // judged as if the caller had set them
    if (!assignment.env_var.empty()) {
      (*repaired.mutable_env())[assignment.env_var] = assignment.value.is_none() ? "" : assignment.value.ToText();
      if (assignment.value.is_none()) repaired.mutable_env()->erase(assignment.env_var);
    }
  }
  v1::ValidateConfigResponse again;
  FLIGHTPLAN_RETURN_IF_ERROR(resolver.ValidateConfig(repaired, &again));
  for (const RepairStep& step : found.steps) {
    v1::RepairStep* message = repair->add_steps();
    message->set_rule_id(std::string(step.rule_id));
    PatchToMessage(step.patch, message->mutable_fix());
    message->set_searched(step.searched);
  }
  repair->set_accepted_by_stack(again.accepted_by_stack());
  repair->set_will_run(again.will_run());
  for (v1::Finding& finding : *again.mutable_findings()) {
    if (finding.severity() == v1::SEVERITY_ERROR) repair->add_findings()->Swap(&finding);
  }
  repair->set_text(repaired.file().text());
  *repair->mutable_arguments() = repaired.arguments().values();
  if (!unwritten.empty()) PatchToMessage(unwritten, repair->mutable_unwritten());
  return absl::OkStatus();
}

}  // namespace flightplan
