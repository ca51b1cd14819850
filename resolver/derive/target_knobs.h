// Writes a decided configuration in the places where the target stack reads it. Decisions name the knobs of the config
// classes; a stack may overwrite those from elsewhere, or have another word for them on its command line.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"

namespace flightplan {

// Megatron-LM and LoongForge: virtual stages by the flag that counts them. Megatron-Bridge: overlap under
// comm_overlap.*, because Bridge overwrites the model and DDP fields from there; precision as a mixed-precision recipe;
// values that two config classes hold, in both. Origins carry over. A value the caller wrote in the target's own place
// stays. What comes out is judged and rendered as it is.
Config WriteForTarget(Config config, const Environment& env);

// The fields of the model and of DDP that Megatron-Bridge's mixed-precision recipe of this precision sets by itself.
std::vector<std::pair<Knob, Value>> SetByPrecisionRecipe(const Config& config);

// The last step of it, enough for a finished typed configuration: adds the target's own name beside a knob that was
// given under the config class's. Never for overrides or flags that somebody wrote.
void UseTargetNames(Target target, Config* config);

// Families whose layers LoongForge builds itself, whatever the variant says: gated delta nets, gated attention, gated
// shared experts and norms around zero (LoongForge@c6275661 models/foundation/qwen3_next, models/foundation/qwen3_5).
bool OwnDeltaNet(const Config& config);
// Of which every so many layers is one of softmax attention, where nothing says it.
inline constexpr int64_t kOwnFullAttentionInterval = 4;

// What a word that only the command line has sets in the config classes, as core_transformer_config_from_args and the
// model's builder do (Megatron-LM megatron/training/argument_utils.py:295), of tied embeddings the reverse, and of a
// model family of LoongForge the layers that it builds; empty where another word says it already, nullopt where the
// word is none of these. `beside`: the words beside it.
std::optional<std::vector<std::pair<Knob, Value>>> InOtherWords(Knob word, const Value& value, const Config& beside);

// The knob of the config classes that a target's own spelling stands for ("comm_overlap.tp_comm_overlap" ->
// "tp_comm_overlap"); the knob itself where there is none.
Knob CanonicalKnob(Knob knob);

}  // namespace flightplan
