// The one place that every fix passes before it is offered: the question is asked again with it, and what does not
// remove its finding, brings an error or a warning of NaN, or leaves less room in memory is not offered.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "resolver/estimate/memory.h"
#include "resolver/pipeline/fix_outcome.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/config.h"
#include "resolver/plan/finding.h"

namespace flightplan {

struct FixTrial {
  FixOutcome now;
  const Config* config = nullptr;                              // effective values, for the memory fixes
  const Environment* env = nullptr;                            // what the launch exports; null: what exports is ours
  const Patch* roomy = nullptr;                                // a search's own way to more room; may be unset
  std::function<std::optional<FixOutcome>(const Patch&)> ask;  // with the patch as the caller's word
  // Memory and time alone, of what fits better than that: cheap; may be unset.
  std::function<std::optional<FixOutcome>(const Patch&, FitVerdict)> forecast;
  std::function<double(const Patch&)> memory_bytes;  // all else as it is; may be unset
};

// A memory finding's first fix.
struct MemoryFix {
  FixOutcome outcome;
  bool roomy = false;  // the search's own way
};

// Drops the fixes that do not hold what they promise; where one lacks nothing but memory, it is offered with what makes
// room for it. Memory findings get theirs here: what frees enough, first what leaves the layout alone, the shortest
// step first. `needs` says what each fix changes in the forecast. Returns the last memory finding's, where there is
// one.
std::optional<MemoryFix> VetFixes(const FixTrial& trial, std::vector<Finding>* findings);

// Whether there is a fix to vet. What is no error has fixes in the full view alone: elsewhere they are taken away.
bool OffersFixes(View view, std::vector<Finding>* findings);

// Of a resolved question; `answer` is how it was answered itself. What a search says of more room is what the memory's
// fix comes to, where that is the better way.
using AnswerAgain = std::function<absl::StatusOr<ResolvedPlan>(NormalizedIntent)>;
void VetFixes(const AnswerAgain& answer, ResolvedPlan* plan);

// The question, or the configuration, with the patch as the caller's word.
Config WithPatch(Config config, const Patch& patch);
NormalizedIntent WithPatch(NormalizedIntent intent, const Patch& patch);

}  // namespace flightplan
