// A model's architecture as the target stack spells it: which knobs a launch must carry so that this model is built.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/model.h"

namespace flightplan {

// Knobs that env's target and release have, each once, in a fixed order. Config classes get their own names
// (activation_func, gated_linear_unit, share_embeddings_and_output_weights ...), the command lines also the argument
// names that stand for them (swiglu, untie_embeddings_and_output_weights, group_query_attention ...). A setting in
// `model.knobs` wins over the one that follows from the architecture. `absent` (optional) receives the knobs that the
// model needs and the release does not have.
std::vector<std::pair<Knob, Value>> ModelKnobs(const ModelSpec& model, const Environment& env,
                                               std::vector<Knob>* absent = nullptr);

// ModelSpec's activation by upstream's name of the function; empty: none that has a name here.
absl::string_view ActivationOf(absl::string_view function, bool gated);

// What this model needs and env's target and release do not have, one short phrase each: such a launch would build
// another model. `absent`: what ModelKnobs found so. Empty for most models. A Megatron-Bridge launch starts from the
// model's own converter, so nothing is missing where Megatron-Bridge has one.
std::vector<std::string> MissingModelFeatures(const ModelSpec& model, const Environment& env,
                                              const std::vector<Knob>& absent);

}  // namespace flightplan
