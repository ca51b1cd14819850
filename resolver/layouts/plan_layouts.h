// All layouts that a question leaves open: the planner's search over candidates, then the best of them through the
// whole pipeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/layouts/plan_answers.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/intent.h"
#include "resolver/plan/search_hooks.h"

namespace flightplan {

enum class PlanObjective { kStepTime, kMemoryHeadroom, kGpuCount };

struct PlanList {
  std::vector<PlanAnswer> plans;  // best first
  SearchStatistics statistics;    // over all GPU counts searched
  int64_t refused = 0;            // layouts that the rules of the release refuse
  int64_t alike = 0;              // layouts that a better plan stands for
  std::vector<Finding> findings;  // a search without a plan says why
};

// Of a list of which the answer has the first plans alone.
Finding AnswerCut(size_t kept, size_t found, size_t max_bytes);
Finding AnswerLate(size_t kept, size_t found);

// `intent.gpu_count`: with PlanObjective::kGpuCount the most; the plans are of the fewest that do.
absl::StatusOr<PlanList> PlanLayouts(const NormalizedIntent& question, PlanObjective objective, size_t plan_count,
                                     const EvidenceSnapshot& evidence, const PlanHooks& hooks);

}  // namespace flightplan
