// The flags of scripts/performance/run_script.py of Megatron-Bridge, and the precisions that its -c takes. Internal to
// its folder.
#pragma once

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/knob.h"

namespace flightplan {

// One flag. Where `knob` is set the value goes there; what else a flag does stands in read_perf.cc.
struct PerfFlag {
  enum class Takes { kInt, kText, kBool, kNothing, kOptionalInt, kMany };

  absl::string_view name;
  absl::string_view short_name;
  Takes takes = Takes::kText;
  std::optional<Knob> knob = std::nullopt;
  absl::string_view choices = "";  // '|' separated
};

absl::Span<const PerfFlag> PerfFlags();
// `word`: "--num_gpus", "-ng" or either with "=16". argparse takes what begins as one long flag alone for it:
// "--num_g". Of several it refuses to choose; none: there is no such flag.
std::vector<const PerfFlag*> FindPerfFlags(absl::string_view word);
// How a knob is written, the short name before the long one; empty: by no flag.
absl::string_view PerfFlagOf(Knob knob);

// A precision of -c and the recipe it stands for. fp8_cs keeps no BF16 layers at the ends, unlike its recipe.
struct ComputeDtype {
  absl::string_view name;
  absl::string_view recipe;
};
absl::Span<const ComputeDtype> ComputeDtypes();

}  // namespace flightplan
