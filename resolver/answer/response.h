// From a finished plan to the bytes of an answer: the last arrow of the pipeline. The answer is never built as a
// message of its own: hundreds of small messages cost more than all that decides what is in them.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/base/wire_writer.h"
#include "resolver/engine/engine.h"
#include "resolver/estimate/estimate.h"
#include "resolver/estimate/step_model.h"
#include "resolver/plan/decision.h"
#include "resolver/plan/intent.h"
#include "resolver/render/dialect.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class Fix;
class Launch;
}  // namespace v1

// Where in the caller's input something was written. `input`: its name.
struct InputPlace {
  absl::string_view input;
  SourcePosition at;
};

// Each writes one message as the field `field` of the message being written.
void PutValue(int field, const Value& value, WireWriter* w);
void PutFinding(int field, const Finding& finding, const InputPlace* place, WireWriter* w);  // null: no place
void PutChange(int field, const ConfigChange& change, WireWriter* w);
void PutDecision(int field, const Decision& decision, WireWriter* w);
void PutLaunch(int field, const Launch& launch, WireWriter* w);
void PutAbSuggestion(int field, const AbSuggestion& ab, const Launch& other, WireWriter* w);
void PutEstimate(int field, const EstimatedPlan& estimate, const StepOutlook* outlook, WireWriter* w);  // may be null
// One entry for every knob that is written or that the stack sets, in table order; a decided one says why.
void PutConfig(int field, const RunResult& run, absl::Span<const Decision> decisions, WireWriter* w);

// The same as messages, which must be empty.
void LaunchToMessage(const Launch& launch, v1::Launch* message);
void PatchToMessage(const Patch& patch, v1::Fix* message);

// "megatron-lm main", "megatron-bridge 0.6".
std::string TargetName(const Environment& env);

}  // namespace flightplan
