// How Megatron-Bridge's config container groups the knobs: section.field, as its overrides spell them.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "resolver/plan/config.h"
#include "resolver/plan/knob.h"

namespace flightplan {

// The container's name of a section ("model", "rerun_state_machine"); empty: not in the container.
absl::string_view BridgeSectionName(Section section);
// The same of the section that owns the knob.
absl::string_view BridgeSectionOf(Knob knob);
// The field's own name: "fp8_param_gather" for mixed_precision.fp8_param_gather.
absl::string_view FieldNameOf(Knob knob);
// The knob of section.field; empty when Bridge has no such field that we know.
std::optional<Knob> FindBridgeField(absl::string_view section, absl::string_view field);

// Adapters are trained in place of the weights: their class is named, or one of its fields is written.
bool AdaptersConfigured(const Config& config);

// Of stacks with adapters of one kind: they are that, Megatron-Bridge's LoRA or mcore_adapter's.
bool TrainsLora(const Config& config);

// A whole launch that trains adapters says this of them: what is given, and what may be otherwise by the stack's
// default.
bool SaysOfAdapters(Knob knob, const Config& config);

// A CommOverlapConfig or MixedPrecisionConfig is part of the launch: said so, or one of its fields is written.
bool CommOverlapConfigured(const Config& config);
bool MixedPrecisionConfigured(const Config& config);

// The field of the comm_overlap / mixed_precision section that Bridge copies over this model, DDP or optimizer knob.
std::optional<Knob> CommOverlapField(Knob knob);
std::optional<Knob> MixedPrecisionField(Knob knob);

// Bridge copies its comm_overlap and mixed_precision sections over the model, DDP and optimizer configs, so a value
// written there is lost. This is where it has to be written instead: the knob itself when nothing overwrites it.
Knob BridgeSourceOf(Knob knob, const Config& config);

}  // namespace flightplan
