#include "resolver/layouts/plan_layouts.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/thousands.h"
#include "resolver/layouts/layout_findings.h"
#include "resolver/layouts/no_layout.h"
#include "resolver/pipeline/apply_evidence.h"
#include "resolver/pipeline/resolve.h"
#include "resolver/plan/partial_nodes.h"

namespace flightplan {
namespace {

// Layouts that the forecast ranks for each plan that is asked for.
constexpr size_t kPoolFactor = 6;
// Counts tried between the largest power of two of nodes that does not do and the first that does.
constexpr int64_t kCountsBetween = 7;

// One search of a question, and what it adds up to over several GPU counts.
class Planner {
 public:
  Planner(const NormalizedIntent& intent, PlanObjective objective, size_t wanted, const EvidenceSnapshot& evidence,
          const PlanHooks& hooks)
      : intent_(intent), objective_(objective), wanted_(wanted), evidence_(evidence), hooks_(hooks) {}

  absl::Status At(int64_t gpus);
  // From one GPU up to what the question has.
  absl::Status FewestGpus();
  absl::StatusOr<PlanList> TakeList();

 private:
  void Add(const SearchStatistics& s);
  void Tell(const SearchProgress& progress);
  void Found(absl::string_view id, Severity severity, std::string seen, std::string needs) {
    list_.findings.push_back(PlanFinding(id, severity, std::move(seen), std::move(needs)));
  }
  bool done() const { return list_.statistics.stopped || failed_; }

  const NormalizedIntent& intent_;
  const PlanObjective objective_;
  const size_t wanted_;
  const EvidenceSnapshot& evidence_;
  const PlanHooks& hooks_;
  PlanProgress told_;
  PlanList list_;                 // its plans are those of the last search
  bool failed_ = false;           // nothing can be searched
  std::vector<Finding> refusal_;  // of the fastest layout of the last search that is refused
};

void Planner::Add(const SearchStatistics& s) {
  SearchStatistics& total = list_.statistics;
  total.space += s.space;
  total.judged += s.judged;
  total.layouts += s.layouts;
  total.memory_bound += s.memory_bound;
  total.time_bound += s.time_bound;
  total.incompatible += s.incompatible;
  total.cut |= s.cut;
  total.stopped |= s.stopped;
}

// An answer may take several searches, each of which begins anew: what was told once is not taken back.
void Planner::Tell(const SearchProgress& progress) {
  told_.done_ratio = std::max(told_.done_ratio, progress.done_ratio);
  told_.judged = std::max(told_.judged, list_.statistics.judged + progress.judged);
  if (told_.best_us == 0 || (progress.best_us > 0 && progress.best_us < told_.best_us))
    told_.best_us = progress.best_us;
}

absl::Status Planner::At(int64_t gpus) {
  list_.plans.clear();
  NormalizedIntent intent = intent_;
  intent.gpu_count = gpus;
  intent.env.world_size = gpus;
  LayoutSearch search;
  FLIGHTPLAN_RETURN_IF_ERROR(PrepareSearch(std::move(intent), &search));
  SearchQuestion& question = search.question;
  if (!question.rates.known) {
    Found("plan.no-rates", Severity::kError, absl::StrCat("hardware.gpu=", intent_.gpu.name),
          "a GPU whose peak rates are published, or given in an overlay of the catalogue");
    failed_ = true;
    return absl::OkStatus();
  }
  if (objective_ == PlanObjective::kMemoryHeadroom) question.objective = SearchObjective::kMemoryHeadroom;
  question.keep = std::max(kPool, wanted_ * kPoolFactor);
  question.keep_alike = kKeepAlike;
  if (hooks_.parallel != nullptr) question.parallel = hooks_.parallel;
  if (hooks_.progress != nullptr) {
    question.progress = [this](const SearchProgress& progress) {
      Tell(progress);
      return hooks_.progress(told_);
    };
  }
  PlanAnswers answers;
  FLIGHTPLAN_ASSIGN_OR_RETURN(const SearchStatistics statistics,
                              SearchAndAnswer(intent_, evidence_, &search, &answers));
  Add(statistics);
  list_.refused += answers.refused;
  refusal_ = std::move(answers.first_refusal);
  list_.plans = std::move(answers.plans);
  list_.alike += answers.alike + KeepFirst(wanted_, &list_.plans);
  return absl::OkStatus();
}

// Whole nodes are what is rented: powers of two up to a node, then of nodes; between the last that does not do and the
// first that does, some counts of whole nodes more.
absl::Status Planner::FewestGpus() {
  const int64_t node = std::max<int64_t>(1, intent_.gpu.gpus_per_node);
  int64_t too_few = 0, enough = 0;
  for (int64_t n = 1; enough == 0 && !done(); n = n < node && n * 2 > node ? node : n * 2) {
    n = std::min(n, intent_.gpu_count);
    FLIGHTPLAN_RETURN_IF_ERROR(At(n));
    if (!list_.plans.empty()) {
      enough = n;
    } else {
      too_few = n;
      if (n == intent_.gpu_count) return absl::OkStatus();
    }
  }
  if (enough <= node || done()) return absl::OkStatus();
  const int64_t nodes_between = (enough - 1) / node - too_few / node;
  const int64_t step = std::max<int64_t>(1, (nodes_between + kCountsBetween - 1) / kCountsBetween) * node;
  std::vector<PlanAnswer> best = std::move(list_.plans);
  for (int64_t n = (too_few / node) * node + step; n < enough && !done(); n += step) {
    FLIGHTPLAN_RETURN_IF_ERROR(At(n));
    if (!list_.plans.empty()) return absl::OkStatus();
  }
  list_.plans = std::move(best);
  return absl::OkStatus();
}

absl::StatusOr<PlanList> Planner::TakeList() {
  const SearchStatistics& total = list_.statistics;
  if (failed_) return std::move(list_);
  if (total.cut) {
    Found("plan.space-cut", Severity::kWarning, absl::StrCat("more than ", kMaxLayouts, " promising layouts"),
          "give some sizes of the layout; the rest of the space was not searched");
  }
  if (total.stopped) {
    Found("plan.search-stopped", Severity::kWarning, "the search was stopped before its end",
          "more time, or some sizes of the layout; better plans may exist");
  }
  if (!list_.plans.empty() || total.stopped) return std::move(list_);
  LayoutSearch search;
  FLIGHTPLAN_RETURN_IF_ERROR(PrepareSearch(intent_, &search));
  if (total.layouts == 0) {
    NoLayout why = WhyNoLayout(search);
    Found("plan.no-legal-layout", Severity::kError, std::move(why.seen), std::move(why.needs));
  } else {
    Found("plan.nothing-fits", Severity::kError,
          absl::StrCat(WithThousands(total.layouts), " legal layouts on ", WithThousands(intent_.gpu_count),
                       " GPUs, none of which fits and is accepted"),
          refusal_.empty() ? WhatWouldFit(search)
                           : "first what the next errors need, of the fastest that fits: they may refuse every layout");
    // Their fixes were tried with one layout, not with a search.
    for (Finding& error : refusal_) error.fixes.clear();
    std::move(refusal_.begin(), refusal_.end(), std::back_inserter(list_.findings));
  }
  return std::move(list_);
}

}  // namespace

Finding AnswerCut(size_t kept, size_t found, size_t max_bytes) {
  return PlanFinding(
      "plan.answer-cut", Severity::kWarning,
      absl::StrCat("the ", found, " plans found take more than the ", WithThousands(static_cast<int64_t>(max_bytes)),
                   " bytes of an answer: the last ", found - kept, " are left out"),
      "fewer plans: those that are left out rank behind all that are here");
}

Finding AnswerLate(size_t kept, size_t found) {
  return PlanFinding("plan.answer-cut", Severity::kWarning,
                     absl::StrCat("the ", found,
                                  " plans found take longer to write than was left of the call's time: the "
                                  "last ",
                                  found - kept, " are left out"),
                     "more time, or fewer plans: those that are left out rank behind all that are here");
}

absl::StatusOr<PlanList> PlanLayouts(const NormalizedIntent& question, PlanObjective objective, size_t plan_count,
                                     const EvidenceSnapshot& evidence, const PlanHooks& hooks) {
  NormalizedIntent intent = question;
  std::vector<Finding> left_out;
  LeaveOutOtherSizes(&intent, &left_out);
  FLIGHTPLAN_ASSIGN_OR_RETURN(const ResolvedPlan plain, Resolve(intent, evidence));
  if (std::vector<Finding> errors = ErrorsOfEveryLayout(plain); !errors.empty()) {
    PlanList none;
    none.findings = std::move(errors);
    none.findings.insert(none.findings.begin(), PlanFinding("plan.nothing-fits", Severity::kError, kEachRefused,
                                                            "first what the next error needs"));
    return none;
  }
  Planner planner(intent, objective, plan_count, evidence, hooks);
  FLIGHTPLAN_RETURN_IF_ERROR(objective == PlanObjective::kGpuCount ? planner.FewestGpus()
                                                                   : planner.At(intent.gpu_count));
  FLIGHTPLAN_ASSIGN_OR_RETURN(PlanList list, planner.TakeList());
  if (objective != PlanObjective::kGpuCount) {  // which comes to counts of its own
    std::copy_if(intent.findings.begin(), intent.findings.end(), std::back_inserter(list.findings),
                 [](const Finding& finding) { return finding.rule_id == kPartialNodes; });
  }
  std::move(left_out.begin(), left_out.end(), std::back_inserter(list.findings));
  return list;
}

}  // namespace flightplan
