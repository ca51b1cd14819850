// What a search found, as plans: every layout through the whole pipeline, best first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/layouts/layout_search.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/intent.h"

namespace flightplan {

struct PlanAnswer {
  LayoutSizes sizes;
  ResolvedPlan plan;  // plan.intent is the question with this layout
  Cautions outside;   // of the evidence: what nobody published runs like this

  // What the step counts for in a ranking by time.
  double RankedUs() const;
};

struct PlanAnswers {
  std::vector<PlanAnswer> plans;  // that can be launched and do not certainly run out of memory; best first
  int64_t refused = 0;            // layouts that the rules of the release refuse
  // Of the fastest of these, whatever its memory.
  std::vector<Finding> first_refusal;
  int64_t alike = 0;  // layouts that a better plan stands for
  bool cut = false;   // the work was spent, or the caller gone, before every layout that was found had its plan
};

// What a forecast can tell apart of one model on one GPU: the median error of the effect in matched A/B pairs
// (tests/evidence/README.md).
inline constexpr double kResolution = 0.04;

// The same mapping, in VPP and micro-batch as they may be, and the same step time as far as a forecast can tell.
bool Alike(const LayoutSizes& a, double a_us, const LayoutSizes& b, double b_us);

// Which of a list's layouts, best first, are its first `most`: of each mapping the best one, and where there are not so
// many mappings the best of what is left. In the list's order.
std::vector<size_t> FirstOfEachMapping(const std::vector<LayoutSizes>& list, size_t most);

// Leaves the first `most` plans by that rule. What is left out is named by the plan of its mapping, as a variant of it;
// returns how many are.
int64_t KeepFirst(size_t most, std::vector<PlanAnswer>* plans);

// How much of its list a search keeps for one mapping: the best, and what it may stand for.
inline constexpr size_t kKeepAlike = 6;

// `question`: its open sizes become those of each layout. A plan is what ResolveLayout makes of its layout, so that
// pinning the sizes gives the same plan; where the search found a split of the layers that makes the step clearly
// shorter, it has that one, and its decision says what it gains. What the search chose is marked as decided, not as the
// caller's word.
absl::Status AnswerPlans(const NormalizedIntent& question, const LayoutSearch& search, const SearchResult& found,
                         const EvidenceSnapshot& evidence, PlanAnswers* answers);

// The same of all of kRooms: what leaves room for the memory forecast's error, and what leaves less and ranks before
// all of that (MemoryCaution of planner/caution.h); where nothing can, the later searches end early. Returns the first
// search's statistics; stopped: one of them was.
absl::StatusOr<SearchStatistics> SearchAndAnswer(const NormalizedIntent& question, const EvidenceSnapshot& evidence,
                                                 LayoutSearch* search, PlanAnswers* answers);

}  // namespace flightplan
