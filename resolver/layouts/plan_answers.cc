#include "resolver/layouts/plan_answers.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/base/bytes.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/work.h"
#include "resolver/derive/pipeline.h"
#include "resolver/layouts/asked_sizes.h"
#include "resolver/layouts/execution_space.h"
#include "resolver/layouts/given_knobs.h"
#include "resolver/layouts/layout_findings.h"
#include "resolver/layouts/plan_cautions.h"
#include "resolver/layouts/resolve_layout.h"
#include "resolver/layouts/search_work.h"
#include "resolver/layouts/weigh_executions.h"
#include "resolver/layouts/weigh_splits.h"
#include "resolver/pipeline/resolve.h"

namespace flightplan {
namespace {

using K = Knob;

// Steps as close as this are the same to a forecast, so the plan with the fewest virtual stages stands for them: what
// more of them cost in transfers and memory is what the forecast knows least.
constexpr double kSame = 0.01;
constexpr absl::string_view kOutsideRule = "plan.outside-evidence";
constexpr int kPublishedLayouts = 572;  // of tests/data/recipes.jsonl.gz: what planner/caution.cc counts in

// ---- sizes and recompute sets as the search's decisions

void MarkSizes(const NormalizedIntent& intent, ResolvedPlan* plan) {
  for (const SizeWish& size : kSizeWishes) {
    if ((intent.layout.*size.wish).has_value() || PinOf(intent, size.knob).has_value()) continue;
    MarkDecided(size.knob, kLayoutDecision, kLeftOpen, plan);
  }
}

void Give(const LayoutSizes& sizes, bool moe, LayoutWish* layout) {
  layout->tensor_model_parallel_size = sizes.tp;
  layout->pipeline_model_parallel_size = sizes.pp;
  layout->virtual_pipeline_model_parallel_size = sizes.vpp;
  layout->context_parallel_size = sizes.cp;
  layout->micro_batch_size = std::min<int64_t>(sizes.micro_batch_size, INT32_MAX);
  if (!moe) return;
  layout->expert_model_parallel_size = sizes.ep;
  layout->expert_tensor_parallel_size = sizes.etp;
}

// ---- one plan

// One layout in the way that its search asks for.
absl::StatusOr<ResolvedPlan> Execute(NormalizedIntent intent, const LayoutSearch& search, const FoundPlan& found,
                                     const EvidenceSnapshot& evidence) {
  if (search.question.objective == SearchObjective::kStepTime) return ResolveLayout(intent, evidence);
  FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan plan, Resolve(intent, evidence));
  const GivenKnobs given = ExecutionKnobs(found.candidate, plan.decided.config, intent);
  GiveKnobs(given, &intent);
  FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan tried, Resolve(std::move(intent), evidence));
  if (!Launchable(tried) || (Launchable(plan) && MostMemory(tried) >= MostMemory(plan))) return plan;
  for (const auto& [knob, value] : given)
    MarkDecided(knob, kExecutionDecision, "the search: needs the least memory", &tried);
  return tried;
}

// A bring-up has virtual stages only where no layout without them starts (resolve_layout.h).
bool PrefersPlainPipelines(const LayoutSearch& search) {
  const bool open = search.given.vpp == 0 && !search.intent.model.hybrid_layer_pattern.has_value();
  return open && search.intent.stage == Stage::kBringUp;
}

// The best way to launch this layout; where there is none, the plain one as it is refused.
absl::StatusOr<ResolvedPlan> AnswerOne(const NormalizedIntent& question, const LayoutSearch& search,
                                       const FoundPlan& found, const EvidenceSnapshot& evidence) {
  NormalizedIntent intent = question;
  intent.gpu_count = search.intent.gpu_count;
  intent.env.world_size = search.intent.gpu_count;
  Give(found.sizes, search.shape.is_moe(), &intent.layout);
  FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan best, Execute(intent, search, found, evidence));
  GiveCut(best, &best.intent);
  const bool promises = !Launchable(best) || found.step.us < best.step_us() * (1 - kWorthASplit);
  if (found.split > 0 && promises) {
    intent.layout.pipeline_model_parallel_layout = LayoutTextOf(*found.candidate.stages, search.shape.mtp_depths);
    FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan split, Execute(std::move(intent), search, found, evidence));
    if (IsBetterCut(best, split)) {
      TellCut(best, &split);
      best = std::move(split);
    }
  }
  MarkSizes(search.intent, &best);
  if (PrefersPlainPipelines(search) && found.sizes.vpp == 1 && found.sizes.pp > 1) SayPlainPipeline(&best);
  return best;
}

PlanAnswer Answered(const LayoutSizes& sizes, ResolvedPlan plan) {
  if (plan.step == nullptr) return {sizes, std::move(plan), {}};
  const Cautions cautions = CautionsOf(plan, /*memory=*/true);
  return {sizes, std::move(plan), cautions};
}

// A plan that stands for others says which: as alternatives of the size in which they differ.
void NameVariant(const PlanAnswer& variant, double plan_us, PlanAnswer* plan) {
  const double change = variant.plan.step_us() / plan_us - 1;
  for (const auto& [knob, now, other] :
       {std::tuple(K::virtual_pipeline_model_parallel_size, int64_t{plan->sizes.vpp}, int64_t{variant.sizes.vpp}),
        std::tuple(K::micro_batch_size, plan->sizes.micro_batch_size, variant.sizes.micro_batch_size)}) {
    if (now == other) continue;
    Decision* const decision = DecisionOf(knob, &plan->plan);
    if (decision->rule_id.empty()) {  // left at its default, which the search chose as well
      decision->rule_id = kLayoutDecision;
      decision->reason = kLeftOpen;
      decision->basis = Basis::kEstimate;
      decision->value = plan->plan.run.config.Get(knob);
    }
    decision->alternatives.push_back(
        {Value(other),
         absl::StrFormat("VPP %d with a micro-batch of %d: step %+.1f %%%s", variant.sizes.vpp,
                         variant.sizes.micro_batch_size, change * 100,
                         std::abs(change) < kResolution ? ", which a forecast cannot tell from this plan's" : "")});
  }
}

// Why a plan ranks behind slower ones. Nothing is said of a plan within the evidence.
void ReportOutside(PlanAnswer* plan) {
  const Cautions& outside = plan->outside;
  if (outside.empty()) return;
  std::string seen;
  bool rare = false, full = false;
  for (size_t i = 0; i < outside.count; ++i) {
    const Caution& caution = *outside.held[i];
    absl::StrAppend(&seen, i == 0 ? "" : "; ", caution.what);
    if (caution.published >= 0) {
      absl::StrAppend(&seen, ": ", caution.published, " of ", kPublishedLayouts, " published layouts");
    }
    (caution.published >= 0 ? rare : full) = true;
  }
  const std::string why = absl::StrCat(rare ? "a forecast knows least about what next to nobody has run" : "",
                                       rare && full ? ", and " : "", full ? "what fills the memory may not start" : "");
  Finding finding =
      PlanFinding(kOutsideRule, Severity::kInfo, std::move(seen),
                  absl::StrFormat("ranked as if its step were %.0f %% longer: %s", 100 * outside.ratio(), why));
  finding.observed.push_back({"ranked_longer_ratio", Value(outside.ratio())});
  plan->plan.run.findings.push_back(std::move(finding));
}

// Every layout that was found, in the search's order. Returned: what those that are refused ask for.
absl::StatusOr<AskedSizes> AnswerEach(const NormalizedIntent& question, const LayoutSearch& search,
                                      const SearchResult& found, const EvidenceSnapshot& evidence,
                                      PlanAnswers* answers) {
  const size_t known = answers->plans.size();
  AskedSizes asked;
  for (const FoundPlan& plan : found.plans) {
    const auto end = answers->plans.begin() + static_cast<std::ptrdiff_t>(known);
    const auto answered =
        std::find_if(answers->plans.begin(), end, [&](const PlanAnswer& other) { return other.sizes == plan.sizes; });
    // With the same plan, unless its layers were given to the stages otherwise.
    if (answered != end && plan.step.us >= answered->plan.step_us() * (1 - kWorthASplit)) continue;
    Work::Spend(WorkOfAPlan(question));
    answers->cut = Work::Spent();
    if (answers->cut) break;
    absl::StatusOr<ResolvedPlan> best = AnswerOne(question, search, plan, evidence);
    answers->cut = Work::Spent();  // it may not be whole
    if (answers->cut) break;
    FLIGHTPLAN_RETURN_IF_ERROR(best.status());
    if (Launchable(*best) && answered != end) {
      PlanAnswer again = Answered(plan.sizes, *std::move(best));
      if (again.RankedUs() < answered->RankedUs()) *answered = std::move(again);
    } else if (Launchable(*best)) {
      answers->plans.push_back(Answered(plan.sizes, *std::move(best)));
    } else if (answered == end) {
      std::vector<Finding> errors = ErrorsBesideMemory(*best);
      asked.Add(errors);
      if (answers->refused++ == 0) answers->first_refusal = std::move(errors);
    }
  }
  return asked;
}

// Of a second look: layouts to choose from, those that are made whole answers of, and how many of these may differ in
// their virtual stages alone.
constexpr size_t kMostWithGraphs = 256, kMostGraphsAnswered = 16, kMostOfAPipeline = 2;

double BestUs(const PlanAnswers& answers) {
  double best_us = std::numeric_limits<double>::infinity();
  for (const PlanAnswer& plan : answers.plans) best_us = std::min(best_us, plan.RankedUs());
  return best_us;
}

// Leaves those whose graphs gain as much as an A/B asks for, so that a whole answer has them.
void KeepWhatGraphsGain(const SearchQuestion& q, std::vector<FoundPlan>* plans) {
  std::vector<LayoutSizes> kept;  // without their virtual stages
  std::erase_if(*plans, [&](const FoundPlan& plan) {
    LayoutSizes pipeline = plan.sizes;
    pipeline.vpp = 1;
    if (kept.size() == kMostGraphsAnswered || plan.sizes.pp == 1 || plan.candidate.graphs == GraphImpl::kNone ||
        std::count(kept.begin(), kept.end(), pipeline) == kMostOfAPipeline) {
      return true;
    }
    Candidate without = plan.candidate;
    without.graphs = GraphImpl::kNone;
    without.graph_modules = 0;
    StepForecast step;
    ForecastStep(*q.work, without, q.rates, &step);
    if (!GainsByAb(step, plan.step)) return true;
    kept.push_back(pipeline);
    return false;
  });
}

// The decisions leave graphs of a pipeline to an A/B, so that a search takes them for no reason to choose one. Some
// gain so much that a whole answer has them all the same: pipelines that rank before what was found if they have graphs
// are answered, too. Returned: whether that was stopped before its end.
absl::StatusOr<bool> AnswerWithGraphs(const NormalizedIntent& question, const EvidenceSnapshot& evidence,
                                      LayoutSearch* search, PlanAnswers* answers) {
  const std::vector<Graphs>& graphs = search->question.execution.graphs;
  const bool held_back = std::any_of(graphs.begin(), graphs.end(), [](const Graphs& one) { return one.max_pp == 1; });
  if (!held_back || search->question.objective != SearchObjective::kStepTime || answers->plans.empty()) return false;
  SearchQuestion q = search->question;
  for (Graphs& one : q.execution.graphs) one.max_pp = 0;
  q.keep = kMostWithGraphs;
  q.keep_alike = 0;
  q.limit = BestUs(*answers);
  SearchResult found = Search(q);
  if (uint64_t& units = search->question.units; units > 0) units -= std::min(units - 1, found.statistics.units);
  KeepWhatGraphsGain(q, &found.plans);
  FLIGHTPLAN_RETURN_IF_ERROR(AnswerEach(question, *search, found, evidence, answers).status());
  return found.statistics.stopped || answers->cut;
}

// Whoever waits hears of searches to come, but no counts that the statistics leave out.
void TellNoCounts(SearchQuestion* q) {
  if (q->progress == nullptr) return;
  q->progress = [told = std::move(q->progress)](SearchProgress progress) {
    progress.judged = 0;
    return told(progress);
  };
}

// What leaves room, and then what leaves less and ranks before all of it. Where a rule refuses one size of every layout
// that was looked at, the room is searched again without that size. The statistics are the first search's.
absl::StatusOr<SearchStatistics> AnswerRooms(const NormalizedIntent& question, const EvidenceSnapshot& evidence,
                                             LayoutSearch* search, PlanAnswers* answers) {
  SearchQuestion& q = search->question;
  const bool bounded = q.units > 0;
  std::optional<SearchStatistics> first;
  for (size_t i = 0; i < std::size(kRooms);) {
    const double room = kRooms[i];
    q.room = room;
    q.limit = BestUs(*answers);
    q.caution->memory = MemoryCaution(room);
    const SearchResult found = Search(q);
    if (!first.has_value()) {
      first = found.statistics;
      TellNoCounts(&q);
    }
    FLIGHTPLAN_ASSIGN_OR_RETURN(const AskedSizes asked, AnswerEach(question, *search, found, evidence, answers));
    first->stopped |= found.statistics.stopped || answers->cut;
    const bool enough = found.statistics.stopped || q.objective == SearchObjective::kMemoryHeadroom;
    if (bounded) q.units -= std::min(q.units - 1, found.statistics.units);  // 0 would be no bound
    if (!answers->cut && !enough && q.units != 1) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(const bool stopped, AnswerWithGraphs(question, evidence, search, answers));
      first->stopped |= stopped;
    }
    if (answers->cut || (enough && !answers->plans.empty()) || q.units == 1) break;
    const bool again = answers->plans.empty() && asked.GiveTo(&q.layout.wish);
    if (!again) ++i;
  }
  return *first;
}

// Best first, one for those that a forecast cannot tell apart.
void Rank(const LayoutSearch& search, PlanAnswers* answers) {
  const bool by_memory = search.question.objective == SearchObjective::kMemoryHeadroom;
  // Memory is told apart as it is printed; of the same the shorter step.
  const auto gib = [&](const PlanAnswer& plan) { return by_memory ? std::round(MostMemory(plan.plan) / kGib) : 0; };
  const auto better = [&](const PlanAnswer& a, const PlanAnswer& b) {
    return std::pair(gib(a), a.RankedUs()) < std::pair(gib(b), b.RankedUs());
  };
  std::vector<PlanAnswer> plans = std::move(answers->plans);
  answers->plans.clear();
  std::stable_sort(plans.begin(), plans.end(), better);
  const auto memory = [&](const PlanAnswer& plan) {
    const Caution* const caution = MemoryCautionOf(plan.plan);
    return caution == nullptr ? 0 : caution->ratio;
  };
  // One plan stands for those of its mapping that a forecast cannot tell from it.
  std::vector<PlanAnswer>& kept = answers->plans;
  std::vector<double> best_us, ranked_us;  // of what each kept plan stands for
  std::vector<std::vector<PlanAnswer>> variants;
  for (PlanAnswer& plan : plans) {
    size_t i = 0;
    const auto alike = [&](const PlanAnswer& other) {
      return Alike(other.sizes, best_us[i], plan.sizes, plan.plan.step_us()) &&
             other.plan.estimate.fit <= plan.plan.estimate.fit;
    };
    while (i < kept.size() && !alike(kept[i])) ++i;
    if (i == kept.size()) {
      best_us.push_back(plan.plan.step_us());
      ranked_us.push_back(plan.RankedUs());
      kept.push_back(std::move(plan));
      variants.emplace_back();
      continue;
    }
    ++answers->alike;
    // With what nobody publishes it would take the place behind others, and the kept one's with it.
    const bool simpler = plan.sizes.vpp < kept[i].sizes.vpp && plan.plan.step_us() < best_us[i] * (1 + kSame) &&
                         plan.RankedUs() < ranked_us[i] * (1 + kSame) && memory(plan) <= memory(kept[i]);
    if (simpler) std::swap(plan, kept[i]);
    variants[i].push_back(std::move(plan));
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    const double us = kept[i].plan.step_us();
    for (const PlanAnswer& variant : variants[i]) NameVariant(variant, us, &kept[i]);
  }
  std::stable_sort(kept.begin(), kept.end(), better);
  for (PlanAnswer& plan : kept) ReportOutside(&plan);
}

}  // namespace

double PlanAnswer::RankedUs() const { return plan.step_us() * (1 + outside.ratio()); }

bool Alike(const LayoutSizes& a, double a_us, const LayoutSizes& b, double b_us) {
  return MappingOf(a) == MappingOf(b) && std::abs(a_us - b_us) < kResolution * std::min(a_us, b_us);
}

std::vector<size_t> FirstOfEachMapping(const std::vector<LayoutSizes>& list, size_t most) {
  std::vector<size_t> first, others;
  for (size_t i = 0; i < list.size(); ++i) {
    const LayoutSizes mapping = MappingOf(list[i]);
    const bool known =
        std::any_of(first.begin(), first.end(), [&](size_t one) { return MappingOf(list[one]) == mapping; });
    (known ? others : first).push_back(i);
  }
  first.insert(first.end(), others.begin(), others.end());
  first.resize(std::min(most, first.size()));
  std::sort(first.begin(), first.end());
  return first;
}

int64_t KeepFirst(size_t most, std::vector<PlanAnswer>* plans) {
  if (plans->size() <= most) return 0;
  std::vector<LayoutSizes> sizes;
  for (const PlanAnswer& plan : *plans) sizes.push_back(plan.sizes);
  std::vector<PlanAnswer> kept;
  for (const size_t i : FirstOfEachMapping(sizes, most)) {
    kept.push_back(std::move((*plans)[i]));
    sizes[i] = {};
  }
  int64_t named = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == LayoutSizes{}) continue;
    const LayoutSizes mapping = MappingOf(sizes[i]);
    const auto stands = std::find_if(kept.begin(), kept.end(),
                                     [&](const PlanAnswer& plan) { return MappingOf(plan.sizes) == mapping; });
    if (stands == kept.end()) continue;
    NameVariant((*plans)[i], stands->plan.step_us(), &*stands);
    ++named;
  }
  *plans = std::move(kept);
  return named;
}

absl::Status AnswerPlans(const NormalizedIntent& question, const LayoutSearch& search, const SearchResult& found,
                         const EvidenceSnapshot& evidence, PlanAnswers* answers) {
  FLIGHTPLAN_RETURN_IF_ERROR(AnswerEach(question, search, found, evidence, answers).status());
  Rank(search, answers);
  return absl::OkStatus();
}

absl::StatusOr<SearchStatistics> SearchAndAnswer(const NormalizedIntent& question, const EvidenceSnapshot& evidence,
                                                 LayoutSearch* search, PlanAnswers* answers) {
  SearchStatistics statistics;
  if (PrefersPlainPipelines(*search)) {
    const uint64_t units = search->question.units;
    search->question.layout.wish.vpp = 1;
    FLIGHTPLAN_ASSIGN_OR_RETURN(statistics, AnswerRooms(question, evidence, search, answers));
    search->question.layout.wish.vpp = 0;
    search->question.units = units;  // the others are another search
  }
  if (answers->plans.empty() && !answers->cut) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(statistics, AnswerRooms(question, evidence, search, answers));
  }
  Rank(*search, answers);
  return statistics;
}

}  // namespace flightplan
