#include "resolver/layouts/open_layout.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/thousands.h"
#include "resolver/base/work.h"
#include "resolver/layouts/execution_space.h"
#include "resolver/layouts/layout_findings.h"
#include "resolver/layouts/layout_search.h"
#include "resolver/layouts/no_layout.h"
#include "resolver/layouts/plan_answers.h"
#include "resolver/layouts/search_work.h"
#include "resolver/pipeline/apply_evidence.h"
#include "resolver/pipeline/resolve.h"

namespace flightplan {
namespace {

std::string LayoutText(const LayoutSizes& sizes, bool moe) {
  std::string text = absl::StrCat("TP", sizes.tp, " CP", sizes.cp, " PP", sizes.pp);
  if (sizes.vpp > 1) absl::StrAppend(&text, " VPP", sizes.vpp);
  if (moe) absl::StrAppend(&text, " EP", sizes.ep, " ETP", sizes.etp);
  return absl::StrCat(text, " MBS", sizes.micro_batch_size);
}

// What speaks most against a plan, and not as well against the chosen one; null: nothing.
const Caution* Difference(const Cautions& chosen, const Cautions& other) {
  const Caution* most = nullptr;
  for (size_t i = 0; i < other.count; ++i) {
    const auto end = chosen.held.begin() + static_cast<std::ptrdiff_t>(chosen.count);
    const bool shared = std::find(chosen.held.begin(), end, other.held[i]) != end;
    if (!shared && (most == nullptr || other.held[i]->ratio > most->ratio)) most = other.held[i];
  }
  return most;
}

// "2.5 % slower", "4 % faster, but PP above 8".
std::string Against(const PlanAnswer& chosen, const PlanAnswer& other) {
  const double ratio = other.plan.step_us() / chosen.plan.step_us() - 1;
  const Caution* const but = ratio < 0 ? Difference(chosen.outside, other.outside) : nullptr;
  const std::string step = absl::StrFormat("%.1f %% %s", std::abs(ratio) * 100, ratio < 0 ? "faster" : "slower");
  return but == nullptr ? step : absl::StrCat(step, ", but ", but->what);
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

absl::StatusOr<ResolvedPlan> Unsearched(NormalizedIntent intent, const EvidenceSnapshot& evidence, Finding why) {
  intent.findings.push_back(std::move(why));
  return Resolve(std::move(intent), evidence);
}

// Of a plan that other errors refuse, with each open size counted as 1: which sizes, what memory and time they take, is
// asked when those are mended.
void LeaveSizesAside(ResolvedPlan* plan) {
  std::erase_if(plan->run.findings, [](const Finding& f) { return f.area == "fit" || f.rule_id == "layout.open"; });
  plan->estimate = {};
  plan->step.reset();
  for (Finding& finding : plan->run.findings) {
    if (finding.rule_id == "layout.none-found") {
      absl::StrAppend(&finding.needs, "; the rest of this answer counts each open size as 1");
    }
  }
}

// The answer names no sizes to give where every choice of them was looked at: it would be a fix that does not fit.
absl::StatusOr<ResolvedPlan> NoneFound(NormalizedIntent intent, const EvidenceSnapshot& evidence, std::string seen,
                                       absl::string_view needs) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(
      ResolvedPlan plan, Unsearched(std::move(intent), evidence, WhyNot("layout.none-found", std::move(seen), needs)));
  if (!ErrorsBesideMemory(plan).empty()) {
    LeaveSizesAside(&plan);
    return plan;
  }
  for (Finding& finding : plan.run.findings) {
    if (finding.rule_id != "layout.open") continue;
    finding.fixes.clear();
    finding.needs = "sizes that fit and are accepted: no search gave any; the rest of this answer counts each as 1";
  }
  return plan;
}

// The sizes of the plan that its question left open.
Patch ChosenSizes(const NormalizedIntent& question, const ResolvedPlan& plan) {
  Patch sizes;
  for (const SizeWish& size : kSizeWishes) {
    const std::optional<int64_t>& chosen = plan.intent.layout.*size.wish;
    if (!(question.layout.*size.wish).has_value() && !PinOf(question, size.knob).has_value() && chosen.has_value()) {
      // Without interleaving: a stack that is told 1 interleaves all the same, or refuses it.
      const bool none = size.knob == Knob::virtual_pipeline_model_parallel_size && *chosen <= 1;
      sizes.push_back({size.knob, "", none ? Value() : Value(*chosen)});
    }
  }
  const std::optional<std::string>& split = plan.intent.layout.pipeline_model_parallel_layout;
  if (split.has_value() && split != question.layout.pipeline_model_parallel_layout) {
    sizes.push_back({Knob::pipeline_model_parallel_layout, "", Value(*split)});
  }
  return sizes;
}

// Those of another plan, to stand over the chosen one's: its stages do not follow the chosen one's split, but its own,
// which its decisions may have made of layers that do not divide.
Patch OtherSizes(const NormalizedIntent& question, const ResolvedPlan& chosen, const ResolvedPlan& other) {
  Patch sizes = ChosenSizes(question, other);
  if (chosen.intent.layout.pipeline_model_parallel_layout.has_value() &&
      !other.intent.layout.pipeline_model_parallel_layout.has_value()) {
    sizes.push_back(
        {Knob::pipeline_model_parallel_layout, "", other.decided.config.Get(Knob::pipeline_model_parallel_layout)});
  }
  return sizes;
}

// Says what the search looked at, what it chose, and what the others are: the next best, and one with more room where
// the chosen one has little.
void TellSearch(const NormalizedIntent& intent, const SearchStatistics& s, bool moe, const PlanAnswers& answers,
                PlanAnswer* chosen) {
  std::string seen =
      absl::StrCat("the layout was left open: ", WithThousands(s.space), " candidates in ", WithThousands(s.layouts),
                   " layouts searched, ", WithThousands(s.judged), " judged in full");
  if (s.stopped) absl::StrAppend(&seen, "; the search ended at its limit of work, so a better one may exist");
  std::string needs = absl::StrCat("chosen: ", LayoutText(chosen->sizes, moe));
  if (answers.plans.size() > 1) {
    const PlanAnswer& next = answers.plans[1];
    absl::StrAppend(&needs, "; next: ", LayoutText(next.sizes, moe), ", ", Against(*chosen, next));
  }
  // The other choice, for those who would rather have room for the worst.
  if (chosen->plan.estimate.fit == FitVerdict::kMarginal) {
    const auto roomy = std::find_if(answers.plans.begin(), answers.plans.end(),
                                    [](const PlanAnswer& plan) { return plan.plan.estimate.fit == FitVerdict::kFits; });
    if (roomy != answers.plans.end()) {
      chosen->plan.roomy = OtherSizes(intent, chosen->plan, roomy->plan);
      chosen->plan.roomy_us = roomy->plan.step_us();
      chosen->plan.roomy_text = absl::StrCat(LayoutText(roomy->sizes, moe), ", ", Against(*chosen, *roomy));
    }
  }
  chosen->plan.run.findings.push_back(
      PlanFinding("layout.searched", Severity::kInfo, std::move(seen), std::move(needs)));
  chosen->plan.chosen = ChosenSizes(intent, chosen->plan);
}

}  // namespace

absl::StatusOr<ResolvedPlan> ResolveOpenLayout(NormalizedIntent intent, const EvidenceSnapshot& evidence) {
  LayoutSearch search;
  // A model that cannot be counted has no forecast to search by.
  const absl::Status counted = PrepareSearch(intent, &search);
  if (!counted.ok() || !search.question.rates.known) {
    std::string seen = counted.ok() ? std::string("the GPU's rates are not known")
                                    : absl::StrCat("the model's parameters cannot be counted: ", counted.message());
    return Unsearched(
        std::move(intent), evidence,
        WhyNot("layout.not-searched", std::move(seen), "the open sizes, or a model and a GPU that can be forecast"));
  }
  if (!Work::Affords(kOpenLayoutWork)) {
    return WithReason(absl::ResourceExhaustedError("a layout that is left open is searched, which takes seconds"),
                      kSearchNeeded);
  }
  LeaveOutOtherSizes(&intent, &intent.findings);
  FLIGHTPLAN_ASSIGN_OR_RETURN(const ResolvedPlan plain, Resolve(intent, evidence));
  if (!ErrorsOfEveryLayout(plain).empty()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(
        ResolvedPlan refused, Unsearched(std::move(intent), evidence,
                                         WhyNot("layout.none-found", kEachRefused, "first what the error here needs")));
    LeaveSizesAside(&refused);
    return refused;
  }
  search.question.keep = kPool;  // as for ten plans, so that both find the same
  search.question.keep_alike = kKeepAlike;
  search.question.work_limit = kWorkLimit;
  search.question.units = kOpenLayoutWork;  // of all rooms
  PlanAnswers answers;
  FLIGHTPLAN_ASSIGN_OR_RETURN(const SearchStatistics s, SearchAndAnswer(intent, evidence, &search, &answers));
  FLIGHTPLAN_RETURN_IF_ERROR(CheckWork());
  if (answers.plans.empty()) {
    if (s.layouts == 0) {
      NoLayout why = WhyNoLayout(search);
      return NoneFound(std::move(intent), evidence, std::move(why.seen), why.needs);
    }
    std::string seen = absl::StrCat(WithThousands(s.layouts), " legal layouts searched, none fits and is accepted");
    const std::string needs = s.stopped ? "some sizes of the layout: what is left open is then searched to its end"
                              : ErrorsBesideMemory(plain).empty()
                                  ? WhatWouldFit(search)
                                  : "first what the other errors here need: they may refuse every layout";
    return NoneFound(std::move(intent), evidence, std::move(seen), needs);
  }
  PlanAnswer& chosen = answers.plans.front();
  TellSearch(intent, s, search.shape.is_moe(), answers, &chosen);
  return std::move(chosen.plan);
}

}  // namespace flightplan
