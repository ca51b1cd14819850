// The arguments of `megatron sft|pt|rlhf` (modelscope/ms-swift@3602360a5 swift/megatron/arguments,
// swift/arguments/base_args), each a field of a dataclass. Those that say a knob stand in spellings.yaml with their
// defaults.
#pragma once

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/knob.h"

namespace flightplan {

struct SwiftArgument {
  absl::string_view name;    // with underscores
  std::optional<Knob> knob;  // empty: the parser knows it, but no rule or writer needs its value
  absl::string_view default_json;
};

// Those that say which adapters are trained, where `tuner_type` says that some are (megatron_args.py:460-467).
struct SwiftAdapterArgument {
  absl::string_view name;
  Knob knob{};
  absl::string_view default_json;
};
inline constexpr SwiftAdapterArgument kSwiftAdapterArguments[] = {
    {"target_modules", Knob::peft_target_modules, R"(["all-linear"])"},
    {"lora_rank", Knob::peft_dim, "8"},
    {"lora_alpha", Knob::peft_alpha, "32"},
    {"lora_dropout", Knob::peft_dropout, "0.05"},
};

// One that an older ms-swift had. `today`: what takes its place; empty: nothing does.
struct SwiftFormerArgument {
  absl::string_view name, today;
};
const SwiftFormerArgument* FindFormerSwiftArgument(absl::string_view name);  // null: none ever had this name

// Those that say a knob, in the order of the knob table.
const std::vector<SwiftArgument>& SwiftKnobs();
// By its name, or the beginning of one alone, which argparse takes for it; null: there is none.
const SwiftArgument* FindSwiftArgument(absl::string_view name);
absl::Span<const absl::string_view> SwiftArgumentNames();

}  // namespace flightplan
