// A launch of one stack or release as a launch of another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "resolver/judge/judge.h"
#include "resolver/plan/judge_question.h"
#include "resolver/plan/value.h"
#include "resolver/render/launch.h"

namespace flightplan {

struct ConvertedKnob {
  std::string name;            // of the knob, or of a flag that is none
  std::optional<Value> value;  // empty: it cannot be read
  std::string source_spelling;
  std::string target_spelling;  // empty: the target has none
  std::string reason;           // a sentence
};

struct ConvertedConfig {
  Launch launch;
  std::vector<ConvertedKnob> converted;        // spelled, placed or valued otherwise at the target
  std::vector<ConvertedKnob> dropped;          // without a counterpart; not in `launch`
  std::vector<ConvertedKnob> pinned_defaults;  // left to a default that the target does not share; in `launch`
  JudgedConfig source;                         // the configuration as it came
  JudgedConfig target;                         // `launch` as the target reads it
};

// Carries over what the source writes, and what it leaves to a default that the target does not share; says what has no
// counterpart. Fixes are tried as those of any judgement are. Errors are those of Read, for the source.
absl::StatusOr<ConvertedConfig> Convert(const ConvertQuestion& question);

}  // namespace flightplan
