// The dialect "nemo-rl": run_grpo.py and its kin with `--config FILE` and Hydra's overrides, or the YAML file itself.
#pragma once

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"
#include "resolver/stacks/layered_settings.h"

namespace flightplan {

inline constexpr SettingsGrammar kNemoSettings = {.rule_id = "nemo-rl.settings",
                                                  .source = "NeMo-RL:nemo_rl/utils/config.py:69"};

// Adapters by the keys of policy.megatron_cfg.peft (nemo_rl/models/megatron/setup.py:1782).
inline constexpr std::pair<absl::string_view, Knob> kNemoAdapterKeys[] = {
    {"dim", Knob::peft_dim},
    {"alpha", Knob::peft_alpha},
    {"dropout", Knob::peft_dropout},
    {"target_modules", Knob::peft_target_modules},
    {"exclude_modules", Knob::peft_exclude_modules}};

// `args`: behind the script's name. The file of --config, and those that its `defaults` name, are read from
// env.model_files.
ParseResult ParseNemoRl(absl::Span<const Argument> args, const Environment& env);

// One of its YAML files. Paths of its defaults are wanted as it writes them.
ParseResult ParseNemoRlYaml(absl::string_view text, const Environment& env);

// Whether a file's `defaults` name another YAML file, and its other sections are NeMo-RL's: what it does not say, that
// file says.
bool IsNemoRlChild(absl::string_view text);

// A launch of run_grpo.py over its example for Megatron.
Launch RenderNemoRl(const RenderInput& input);

// The keys of a knob in such a file.
std::string NemoRlPlace(Knob knob, const YamlNode& root);

}  // namespace flightplan
