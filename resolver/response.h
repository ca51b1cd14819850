// From a finished plan to answer messages: the last arrow of the pipeline.
#pragma once

#include <string>
#include <vector>

#include "google/protobuf/repeated_ptr_field.h"
#include "resolver/engine/engine.h"
#include "resolver/estimate/estimate.h"
#include "resolver/estimate/step_model.h"
#include "resolver/plan/decision.h"
#include "resolver/plan/intent.h"
#include "resolver/render/dialect.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class AbSuggestion;
class ConfigEntry;
class Decision;
class EffectiveChange;
class Estimate;
class Finding;
class Fix;
class Launch;
}  // namespace v1

void FindingToMessage(const Finding& finding, v1::Finding* message);
void PatchToMessage(const Patch& patch, v1::Fix* message);
void LocationToMessage(const std::string& input, const SourcePosition& at, v1::Finding* message);
void ChangeToMessage(const ConfigChange& change, v1::EffectiveChange* message);
void DecisionToMessage(const Decision& decision, v1::Decision* message);
void LaunchToMessage(Launch launch, v1::Launch* message);

void OutlookToMessage(const StepOutlook& outlook, v1::Estimate* message);
void EstimateToMessage(const EstimatedPlan& estimate, v1::Estimate* message);

// One entry for every knob that is written or that the stack sets, in table order. `reasons` holds, per knob, the
// decision that chose it, or null.
// Where `env`'s target reads the knob: "--bf16", "model.bf16"; nothing where it has no place for it.
void AppendSpelling(Knob knob, const Environment& env, std::string* spelling);

void ConfigToMessages(const RunResult& run, const std::vector<const Decision*>& reasons,
                      google::protobuf::RepeatedPtrField<v1::ConfigEntry>* entries);

// "megatron-lm main", "megatron-bridge 0.6".
std::string TargetName(const Environment& env);

}  // namespace flightplan
