#include "resolver/open_layout.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/work.h"
#include "resolver/plan_answers.h"

namespace flightplan {
namespace {

// Candidates judged and layouts looked at: about two seconds of one core. PlanLayouts has no such limit.
constexpr int64_t kWorkLimit = int64_t{3} << 20;
// Layouts that go through the whole pipeline: some are refused by the rules of the release, some only nearly fit.
constexpr size_t kPool = 12;
// Of what the planner does between two reports, in units of base/work.h.
constexpr size_t kWorkOfABatch = size_t{1} << 20;

std::string LayoutText(const LayoutSizes& sizes, bool moe) {
  std::string text = absl::StrCat("TP", sizes.tp, " CP", sizes.cp, " PP", sizes.pp);
  if (sizes.vpp > 1) absl::StrAppend(&text, " VPP", sizes.vpp);
  if (moe) absl::StrAppend(&text, " EP", sizes.ep, " ETP", sizes.etp);
  return absl::StrCat(text, " MBS", sizes.micro_batch_size);
}

// "2.5 % slower", "4 % faster, but only marginal".
std::string Against(const v1::ResolveConfigResponse& chosen, const v1::ResolveConfigResponse& other) {
  const double ratio = other.estimate().step_time_us().value() / chosen.estimate().step_time_us().value() - 1;
  return absl::StrFormat("%.1f %% %s%s", std::abs(ratio) * 100, ratio < 0 ? "faster" : "slower",
                         ratio < 0 ? ", but fits only marginally" : "");
}

// Findings go by severity, first knob, id; this one names no knob.
void MoveLastIntoPlace(google::protobuf::RepeatedPtrField<v1::Finding>* findings) {
  const auto key = [](const v1::Finding& finding) {
    return std::make_tuple(static_cast<int>(finding.severity()),
                           finding.observed_size() > 0 ? finding.observed(0).name() : std::string(), finding.rule_id());
  };
  for (int i = findings->size() - 1; i > 0 && key((*findings)[i]) < key((*findings)[i - 1]); --i) {
    findings->SwapElements(i, i - 1);
  }
}

Finding WhyNot(absl::string_view id, std::string detail, absl::string_view needs) {
  Finding finding;
  finding.rule_id = id;
  finding.area = "plan";
  finding.severity = Severity::kWarning;
  finding.verdict = Verdict::kAdvice;
  finding.seen = std::move(detail);
  finding.needs = std::string(needs);
  finding.source = "resolver/planner";
  return finding;
}

}  // namespace

absl::Status ResolveOpenLayout(const Resolver& resolver, const v1::ResolveConfigRequest& request,
                               const NormalizedIntent& intent, const EvidenceSnapshot& evidence,
                               v1::ResolveConfigResponse* response, std::vector<Finding>* why_not) {
  LayoutSearch search;
  // A model that cannot be counted has no forecast to search by.
  if (!PrepareSearch(intent, &search).ok() || !search.question.rates.known) {
    why_not->push_back(WhyNot("layout.not-searched", "the model's parameters or the GPU's rates are not known",
                              "the open sizes, or a model and a GPU that can be forecast"));
    return absl::OkStatus();
  }
  if (!Work::Affords(kOpenLayoutWork)) {
    return WithReason(absl::ResourceExhaustedError("a layout that is left open is searched, which takes seconds"),
                      kSearchNeeded);
  }
  search.question.progress = [](const SearchProgress&) {
    Work::Spend(kWorkOfABatch);
    return !Work::Spent();
  };
  search.question.keep = kPool;
  search.question.keep_alike = kKeepAlike;
  search.question.work_limit = kWorkLimit;
  PlanAnswers answers;
  SearchResult found;
  for (const bool whole_band : {true, false}) {  // one that nearly fits only where no other is left
    search.question.whole_band = whole_band;
    found = Search(search.question);
    if (Work::Spent()) return absl::CancelledError("the search was ended before its end");
    FLIGHTPLAN_RETURN_IF_ERROR(AnswerPlans(resolver, request, search, found, evidence, &answers));
    if (!answers.plans.empty()) break;
  }
  const SearchStatistics& s = found.statistics;
  if (answers.plans.empty()) {
    why_not->push_back(WhyNot("layout.none-found",
                              s.layouts == 0
                                  ? absl::StrCat("no sizes divide ", intent.gpu_count, " GPUs and a global batch of ",
                                                 intent.workload.global_batch_size)
                                  : absl::StrCat(s.layouts, " legal layouts searched, none fits and is accepted"),
                              "more GPUs, a shorter sequence, or fewer given sizes"));
    return absl::OkStatus();
  }
  auto chosen = std::find_if(answers.plans.begin(), answers.plans.end(), [](const PlanAnswer& plan) {
    return plan.answer.estimate().fit() == v1::FIT_VERDICT_FITS;
  });
  if (chosen == answers.plans.end()) chosen = answers.plans.begin();
  const bool moe = search.shape.is_moe();
  std::string seen = absl::StrCat("the layout was left open: ", s.space, " candidates in ", s.layouts,
                                  " layouts searched, ", s.judged, " judged in full");
  if (s.stopped) absl::StrAppend(&seen, "; the search ended at its limit of work, so a better one may exist");
  std::string needs = absl::StrCat("chosen: ", LayoutText(chosen->sizes, moe));
  for (const PlanAnswer& other : answers.plans) {
    if (&other == &*chosen) continue;
    absl::StrAppend(&needs, "; next: ", LayoutText(other.sizes, moe), ", ", Against(chosen->answer, other.answer));
    break;
  }
  *response = std::move(chosen->answer);
  PlanFinding("layout.searched", v1::SEVERITY_INFO, std::move(seen), std::move(needs), response->mutable_findings());
  MoveLastIntoPlace(response->mutable_findings());
  return absl::OkStatus();
}

}  // namespace flightplan
