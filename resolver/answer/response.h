// Turns a finished plan into the bytes of an answer, the last arrow of the pipeline. The answer is never built as a
// message of its own: hundreds of small messages cost more than all that decides what is in them.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/base/wire_writer.h"
#include "resolver/engine/engine.h"
#include "resolver/plan/decision.h"
#include "resolver/plan/intent.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// Where in the caller's input something was written. `input`: its name.
struct InputPlace {
  absl::string_view input;
  SourcePosition at;
};

// Each writes one message as the field `field` of the message being written.
void PutValue(int field, const Value& value, WireWriter* w);
void PutFinding(int field, const Finding& finding, const InputPlace* place, WireWriter* w);  // null: no place
void PutFix(int field, const Patch& patch, WireWriter* w);
// Without those that change a value's type alone: a list of one for its member.
void PutChanges(int field, const std::vector<ConfigChange>& changes, WireWriter* w);
void PutDecision(int field, const Decision& decision, WireWriter* w);
void PutLaunch(int field, const Launch& launch, WireWriter* w);
void PutAbSuggestion(int field, const AbSuggestion& ab, const Launch& other, WireWriter* w);
// One entry for every knob that is written or that the stack sets, in table order; a decided one says why. `stated`: by
// the caller beside what is written.
void PutConfig(int field, const RunResult& run, absl::Span<const Decision> decisions, absl::Span<const Knob> stated,
               WireWriter* w);

}  // namespace flightplan
