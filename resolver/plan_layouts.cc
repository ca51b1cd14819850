// PlanLayouts: the planner's search over candidates, then the best of them through the whole pipeline.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/attach_probe.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/request.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan_answers.h"
#include "resolver/resolver.h"

namespace flightplan {
namespace {

constexpr int kDefaultPlans = 10;
constexpr int kMaxPlans = 100;
// Layouts that the forecast ranks for each plan that is asked for: the decisions may settle one otherwise than the
// search would, the rules of the release may refuse it, and some are alike.
constexpr size_t kPoolFactor = 6;
constexpr size_t kLeastPool = 24;
// Counts tried between the largest power of two of nodes that does not do and the first that does.
constexpr int64_t kCountsBetween = 7;

// One search of a question, and what it adds up to over several GPU counts.
class Planner {
 public:
  Planner(const Resolver& resolver, const v1::PlanLayoutsRequest& request, const EvidenceSnapshot& evidence,
          const PlanHooks& hooks, v1::PlanResult* result)
      : resolver_(resolver),
        evidence_(evidence),
        request_(request),
        hooks_(hooks),
        wanted_(static_cast<size_t>(request.has_plan_count() ? request.plan_count() : kDefaultPlans)),
        result_(result) {}

  absl::Status At(NormalizedIntent intent, int64_t gpus);
  // From one GPU up to what the question has.
  absl::Status FewestGpus(const NormalizedIntent& intent);
  void Report(const NormalizedIntent& intent);

 private:
  void Add(const SearchStatistics& s);
  bool done() const { return total_.stopped || failed_; }

  const Resolver& resolver_;
  const EvidenceSnapshot& evidence_;
  const v1::PlanLayoutsRequest& request_;
  const PlanHooks& hooks_;
  const size_t wanted_;
  v1::PlanResult* const result_;
  std::vector<v1::ResolveConfigResponse> plans_;  // of the last search
  SearchStatistics total_;
  int64_t refused_ = 0, alike_ = 0;
  bool failed_ = false;  // nothing can be searched
};

void Planner::Add(const SearchStatistics& s) {
  total_.space += s.space;
  total_.judged += s.judged;
  total_.layouts += s.layouts;
  total_.memory_bound += s.memory_bound;
  total_.time_bound += s.time_bound;
  total_.incompatible += s.incompatible;
  total_.cut |= s.cut;
  total_.stopped |= s.stopped;
}

absl::Status Planner::At(NormalizedIntent intent, int64_t gpus) {
  plans_.clear();
  intent.gpu_count = gpus;
  intent.env.world_size = gpus;
  const std::string gpu_name = intent.gpu.name;
  LayoutSearch search;
  FLIGHTPLAN_RETURN_IF_ERROR(PrepareSearch(std::move(intent), &search));
  SearchQuestion& question = search.question;
  if (!question.rates.known) {
    PlanFinding("plan.no-rates", v1::SEVERITY_ERROR, absl::StrCat("hardware.gpu=", gpu_name),
                "a GPU whose peak rates are published, or given in an overlay of the catalogue",
                result_->mutable_findings());
    failed_ = true;
    return absl::OkStatus();
  }
  if (request_.objective() == v1::PLAN_OBJECTIVE_MEMORY_HEADROOM) question.objective = SearchObjective::kMemoryHeadroom;
  question.keep = std::max(kLeastPool, wanted_ * kPoolFactor);
  question.keep_alike = kKeepAlike;
  if (hooks_.parallel != nullptr) question.parallel = hooks_.parallel;
  if (hooks_.progress != nullptr) {
    question.progress = [this](const SearchProgress& progress) {
      return hooks_.progress({progress.done_ratio, total_.judged + progress.judged, progress.best_us});
    };
  }
  const SearchResult found = Search(question);
  Add(found.statistics);
  PlanAnswers answers;
  FLIGHTPLAN_RETURN_IF_ERROR(AnswerPlans(resolver_, request_.base(), search, found, evidence_, &answers));
  refused_ += answers.refused;
  alike_ += answers.alike;
  for (PlanAnswer& plan : answers.plans) {
    if (plans_.size() < wanted_) plans_.push_back(std::move(plan.answer));
  }
  return absl::OkStatus();
}

// Whole nodes are what is rented: powers of two up to a node, then of nodes; between the last that does not do and the
// first that does, some counts of whole nodes more.
absl::Status Planner::FewestGpus(const NormalizedIntent& intent) {
  const int64_t node = std::max<int64_t>(1, intent.gpu.gpus_per_node);
  int64_t too_few = 0, enough = 0;
  for (int64_t n = 1; enough == 0 && !done(); n = n < node && n * 2 > node ? node : n * 2) {
    n = std::min(n, intent.gpu_count);
    FLIGHTPLAN_RETURN_IF_ERROR(At(intent, n));
    if (!plans_.empty()) {
      enough = n;
    } else {
      too_few = n;
      if (n == intent.gpu_count) return absl::OkStatus();
    }
  }
  if (enough <= node || done()) return absl::OkStatus();
  const int64_t nodes_between = (enough - 1) / node - too_few / node;
  const int64_t step = std::max<int64_t>(1, (nodes_between + kCountsBetween - 1) / kCountsBetween) * node;
  std::vector<v1::ResolveConfigResponse> best = std::move(plans_);
  for (int64_t n = (too_few / node) * node + step; n < enough && !done(); n += step) {
    FLIGHTPLAN_RETURN_IF_ERROR(At(intent, n));
    if (!plans_.empty()) return absl::OkStatus();
  }
  plans_ = std::move(best);
  return absl::OkStatus();
}

void Planner::Report(const NormalizedIntent& intent) {
  for (v1::ResolveConfigResponse& plan : plans_) *result_->add_plans() = std::move(plan);
  result_->set_space_count(total_.space);
  result_->set_judged_count(total_.judged);
  (*result_->mutable_pruned_counts())["memory_bound"] = total_.memory_bound;
  (*result_->mutable_pruned_counts())["time_bound"] = total_.time_bound;
  (*result_->mutable_pruned_counts())["incompatible"] = total_.incompatible;
  (*result_->mutable_pruned_counts())["refused_by_rules"] = refused_;
  (*result_->mutable_pruned_counts())["alike"] = alike_;
  if (failed_) return;
  auto* findings = result_->mutable_findings();
  if (total_.cut) {
    PlanFinding("plan.space-cut", v1::SEVERITY_WARNING, absl::StrCat("more than ", kMaxLayouts, " promising layouts"),
                "give some sizes of the layout; the rest of the space was not searched", findings);
  }
  if (total_.stopped) {
    PlanFinding("plan.search-stopped", v1::SEVERITY_WARNING, "the search was stopped before its end",
                "more time, or some sizes of the layout; better plans may exist", findings);
  }
  if (result_->plans_size() > 0 || total_.stopped) return;
  if (total_.layouts == 0) {
    PlanFinding("plan.no-legal-layout", v1::SEVERITY_ERROR,
                absl::StrCat("no sizes divide ", intent.gpu_count, " GPUs and a global batch of ",
                             intent.workload.global_batch_size),
                "a GPU count and a batch with common divisors; fewer given sizes", findings);
  } else {
    PlanFinding("plan.nothing-fits", v1::SEVERITY_ERROR,
                absl::StrCat(total_.layouts, " legal layouts on ", intent.gpu_count,
                             " GPUs, none of which fits and is accepted"),
                "more GPUs, a larger memory, a shorter sequence, or fewer given sizes", findings);
  }
}

absl::StatusOr<NormalizedIntent> ReadQuestion(const v1::ResolveConfigRequest& question, const Catalog& catalog,
                                              const ProfileSource* profiles) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(NormalizedIntent intent, NormalizeResolve(question, catalog));
  FLIGHTPLAN_RETURN_IF_ERROR(AttachProbe(question, profiles, &intent));
  return intent;
}

}  // namespace

absl::Status Resolver::PlanLayouts(const v1::PlanLayoutsRequest& request, const PlanHooks& hooks,
                                   v1::PlanResult* result, const EvidenceSnapshot& evidence) const {
  if (request.has_plan_count() && (request.plan_count() < 1 || request.plan_count() > kMaxPlans)) {
    Violations violations;
    violations.Add("plan_count", absl::StrCat("must be 1..", kMaxPlans, ", not ", request.plan_count()));
    return violations.ToStatus();
  }
  if (request.base().view() != v1::ANSWER_VIEW_UNSPECIFIED) {
    Violations violations;
    violations.Add("base.view", "must be unset: plans are answered in full");
    return violations.ToStatus();
  }
  const absl::StatusOr<NormalizedIntent> intent = ReadQuestion(request.base(), *catalog_, profiles_.get());
  if (!intent.ok()) return WithFieldsBelow("base", intent.status());
  Planner planner(*this, request, evidence, hooks, result);
  if (request.objective() == v1::PLAN_OBJECTIVE_GPU_COUNT) {
    FLIGHTPLAN_RETURN_IF_ERROR(planner.FewestGpus(*intent));
  } else {
    FLIGHTPLAN_RETURN_IF_ERROR(planner.At(*intent, intent->gpu_count));
  }
  planner.Report(*intent);
  return absl::OkStatus();
}

}  // namespace flightplan
