// From a finished plan to answer messages: the last arrow of the pipeline.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
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

void FindingToMessage(Finding finding, v1::Finding* message);
void PatchToMessage(const Patch& patch, v1::Fix* message);
void LocationToMessage(const std::string& input, const SourcePosition& at, v1::Finding* message);
void ChangeToMessage(const ConfigChange& change, v1::EffectiveChange* message);
void DecisionToMessage(Decision decision, v1::Decision* message);
void LaunchToMessage(Launch launch, v1::Launch* message);

void OutlookToMessage(const StepOutlook& outlook, v1::Estimate* message);
void EstimateToMessage(const EstimatedPlan& estimate, v1::Estimate* message);

// Where `env`'s target reads the knob: "--bf16", "model.bf16"; empty where it has no place for it. Lives as long as the
// process.
absl::string_view SpellingOf(Knob knob, const Environment& env);

// One entry for every knob that is written or that the stack sets, in table order; a decided one says why.
void ConfigToMessages(const RunResult& run, absl::Span<const Decision> decisions,
                      google::protobuf::RepeatedPtrField<v1::ConfigEntry>* entries);

// "megatron-lm main", "megatron-bridge 0.6".
std::string TargetName(const Environment& env);

}  // namespace flightplan
