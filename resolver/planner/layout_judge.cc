#include "resolver/planner/layout_judge.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "resolver/base/work.h"
#include "resolver/planner/pipelines.h"

namespace flightplan {
namespace {

// In units of base/work.h: of a group's ways of execution, of a layout, of the times of its layers, of a step from
// these and of each rank in it that differs.
constexpr size_t kWorkOfGroup = 2048, kWorkOfLayout = 256, kWorkOfLayers = 512, kWorkOfStep = 48, kWorkOfLoad = 6;

size_t WorkOfStep(const StageLayout& stages) {
  const size_t pairs = stages.steady == nullptr ? 0 : stages.steady->pairs.size();
  return kWorkOfStep + kWorkOfLoad * (stages.contents.size() + pairs);
}
size_t WorkOfMemory(const StageLayout& stages) {
  return kWorkOfModel + stages.distinct_ranks.size() * WorkOfRank(stages);
}

// Sums of the same parts in another order differ in their last bits.
bool Above(double least, double bytes) { return least * (1 - 1e-12) > bytes; }

}  // namespace

LayoutJudge::LayoutJudge(const SearchQuestion& question, bool counts, OfUse of_use)
    : q_(question),
      counts_(counts),
      of_use_(std::move(of_use)),
      executions_(static_cast<int64_t>(question.execution.size())),
      sets_(static_cast<int64_t>(question.execution.recomputes.size() * question.execution.optimizer_offloads.size())),
      plain_is_open_(question.execution.recomputes.front().mode == RecomputeMode::kNone &&
                     question.execution.recomputes.front().offload_layers == 0 &&
                     question.execution.optimizer_offloads.front() == kNoOffload),
      families_(FamiliesOf(question.execution)),
      bounds_(question) {}

FoundPlan LayoutJudge::Found(const Layout& layout, const Candidate& c) const {
  FoundPlan plan;
  plan.sizes = layout.sizes;
  plan.split = layout.split_at;
  plan.caution = layout.caution;
  if (ByTime() && q_.caution.has_value()) {
    plan.caution = 1 + CautionsOf(layout.sizes, c, *q_.caution).ratio();
  }
  plan.candidate = c;
  Work::Spend(kWorkOfLayers + WorkOfStep(*c.stages));
  ForecastStep(*q_.work, c, q_.rates, &plan.step);
  if (!counts_) return plan;
  Work::Spend(WorkOfMemory(*c.stages));
  MemoryForecast memory;
  ForecastMemory(*q_.shape, c, q_.memory, &memory);
  plan.memory = memory.fullest.total;
  plan.fit = memory.verdict;
  return plan;
}

// Of one layout the times are asked for again only where there are several offloads: else they pass through one place,
// which stays in the cache.
const TimedLayers& LayoutJudge::TimedOf(const Candidate& c, size_t recompute, Combination* combination) const {
  std::unique_ptr<const TimedLayers>& timed = combination->times[recompute];
  if (timed != nullptr) return *timed;
  Work::Spend(kWorkOfLayers);
  if (combination->timer == nullptr) combination->timer = std::make_unique<LayerTimer>(*q_.work, c, q_.rates);
  const bool once = !counts_ && q_.execution.optimizer_offloads.size() == 1;
  if (once) return combination->passing.emplace(*combination->timer, c);
  timed = std::make_unique<const TimedLayers>(*combination->timer, c);
  return *timed;
}

// Above any time where the bound alone says that it is `limit` or more.
double LayoutJudge::TimeOf(const Layout& layout, const Candidate& c, double limit, size_t recompute,
                           Combination* combination, StepForecast* step) const {
  Work::Spend(WorkOfStep(*c.stages));
  const TimedLayers& timed = TimedOf(c, recompute, combination);
  // Where nothing overlaps the exchanges, what fills and drains the pipeline takes no less than the steady part does.
  const double all_us = c.ep_overlap ? 0 : Dot(layout.split->all, timed.pairs);
  if (bounds_.TimeUs(layout.sizes, SlowestUs(*layout.split, timed.pairs), all_us) >= limit) return kNever;
  return StepUsBelow(limit, *q_.work, c, q_.rates, timed.times, step);
}

// What the candidate's own execution counts for beside what its sizes do.
double LayoutJudge::Weight(const LayoutSizes& sizes, const Candidate& c) const {
  if (!q_.caution.has_value()) return 1;
  return (1 + CautionsOf(sizes, c, *q_.caution).ratio()) / (1 + CautionRatio(sizes, *q_.caution));
}

// Every rank for itself: the first that does not ends the question.
bool LayoutJudge::Fits(const Candidate& c) const {
  const bool host = HoldsAgainstHost(c);
  if (q_.memory.capacity <= 0 && !host) return true;
  Work::Spend(kWorkOfModel);
  const MemoryModel model(*q_.shape, c, q_.memory.device);
  if (host && !FitsHost(model, c)) return false;
  if (q_.memory.capacity <= 0) return true;
  const std::vector<int>& ranks = c.stages->distinct_ranks;
  return std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
    Work::Spend(WorkOfRank(*c.stages));
    return !Work::Spent() && Fits(model.Stage(rank).Total());
  });
}

bool LayoutJudge::HoldsAgainstHost(const Candidate& c) const {
  return q_.memory.node_memory > 0 && c.optimizer_offload > 0;
}

bool LayoutJudge::FitsHost(const MemoryModel& model, const Candidate& c) const {
  const std::vector<int>& ranks = c.stages->distinct_ranks;
  return std::all_of(ranks.begin(), ranks.end(),
                     [&](int rank) { return ForecastHost(model, c, rank, q_.memory).value <= q_.memory.node_memory; });
}

Band LayoutJudge::MemoryOf(const Candidate& c) const {
  Work::Spend(WorkOfMemory(*c.stages));
  MemoryForecast forecast;
  ForecastMemory(*q_.shape, c, q_.memory, &forecast);
  return forecast.fullest.total;
}

bool LayoutJudge::PlainIsOfUse(const Layout& layout, const Candidate& c, double best, Combination* combination) const {
  StepForecast step;
  return of_use_ == nullptr ||
         (TimeOf(layout, c, best, q_.execution.recomputes.size(), combination, &step) < best && of_use_(step));
}

// The combinations without recompute and offload, fastest first.
std::vector<std::pair<double, Combination*>> LayoutJudge::Plain(const Layout& layout, double best, Candidate* c,
                                                                std::vector<Combination>* combinations,
                                                                Judgement* out) const {
  std::vector<std::pair<double, Combination*>> plain;
  StepForecast step;
  const GivenOffload given = GivenOffloadOf(*c);
  for (Combination& combination : *combinations) {
    if (!Possible(q_, layout.sizes, combination)) {
      out->incompatible += sets_;
      continue;
    }
    Use(q_, combination, given, c);
    plain.emplace_back(TimeOf(layout, *c, best, q_.execution.recomputes.size(), &combination, &step), &combination);
  }
  std::stable_sort(plain.begin(), plain.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return plain;
}

// What memory forbids is dearer to find out than what takes too long: of one layout, where nobody asks how many fell to
// which bound, it is found out of those families alone that have something fast.
std::vector<LayoutJudge::OpenFamily> LayoutJudge::OpenFamilies(const Layout& layout) const {
  std::vector<OpenFamily> open;
  for (const Family& family : families_) {
    if (!counts_) {
      open.push_back({&family, std::nullopt});
    } else if (!bounds_.CannotFit(layout.sizes, *layout.stages, family)) {
      open.push_back({&family, false});
    }
  }
  return open;
}

bool LayoutJudge::Forbidden(const Layout& layout, OpenFamily* open) const {
  if (!open->forbidden.has_value()) {
    open->forbidden = bounds_.CannotFit(layout.sizes, *layout.stages, *open->family);
  }
  return *open->forbidden;
}

// Adds the family's sets that rank before `best`; whether one of them is of use.
bool LayoutJudge::AddFaster(const Layout& layout, double best, const GivenOffload& given, Candidate* c,
                            Combination* combination, OpenFamily* open, std::vector<TimedSet>* faster,
                            Judgement* out) const {
  const Family& family = *open->family;
  std::vector<Recompute> slow;
  StepForecast step;
  bool of_use = false;
  UseOffload(q_.execution, family.offload, c);
  for (size_t r : family.sets) {
    const Recompute& recompute = q_.execution.recomputes[r];
    if (!Compatible(*combination->exchange, *combination->graphs, recompute) || !Compatible(layout.sizes, recompute)) {
      ++out->incompatible;
      continue;
    }
    if (AddsToAny(slow, recompute)) continue;
    Use(*combination->exchange, recompute, given, c);
    ++out->judged;
    const double weight = Weight(layout.sizes, *c);
    const double us = weight * TimeOf(layout, *c, best / weight, r, combination, &step);
    if (us < best) {
      faster->push_back({us, r, open});
      of_use = of_use || IsOfUse(step);
    } else if (!counts_ && q_.rates.k.corun_communication >= 1) {
      slow.push_back(recompute);
    }
  }
  return of_use;
}

void LayoutJudge::JudgeTime(const Layout& layout, double threshold, std::vector<Combination>* combinations,
                            Judgement* out) const {
  Work::Spend(kWorkOfLayout);
  Candidate c = CandidateAt(q_, layout.sizes, layout.stages);
  const GivenOffload given = GivenOffloadOf(c);
  double best = std::nextafter(threshold, kNever);  // as good as the worst kept may rank before it
  const auto plain = Plain(layout, best, &c, combinations, out);
  if (plain.empty() || !(plain.front().first < best)) {
    out->time_bound += sets_ * static_cast<int64_t>(plain.size());
    return;
  }
  // While nothing fits, most layouts fall by what stays on the GPU whatever is recomputed: one look for all families.
  if (counts_ && threshold >= kNever && q_.memory.capacity > 0 &&
      Above(bounds_.StaticBytes(layout.sizes, *layout.stages), q_.memory.capacity)) {
    out->memory_bound += sets_ * static_cast<int64_t>(plain.size());
    return;
  }
  std::vector<OpenFamily> families = OpenFamilies(layout);
  int64_t left = 0;  // sets in them
  for (const OpenFamily& open : families) left += static_cast<int64_t>(open.family->sets.size());
  out->memory_bound += (sets_ - left) * static_cast<int64_t>(plain.size());
  if (families.empty()) return;

  std::optional<Candidate> winner;
  std::vector<TimedSet> by_time;
  by_time.reserve(static_cast<size_t>(sets_));
  for (size_t i = 0; i < plain.size(); ++i) {
    if (Work::Spent()) break;
    const auto& [plain_us, combination] = plain[i];
    if (!(plain_us < best)) {  // and so are all that follow
      out->time_bound += left * static_cast<int64_t>(plain.size() - i);
      break;
    }
    Use(q_, *combination, given, &c);
    // Where that fits, everything else only adds time.
    if (plain_is_open_ && Compatible(layout.sizes, q_.execution.recomputes.front())) {
      Use(*combination->exchange, q_.execution.recomputes.front(), given, &c);
      if (Fits(c)) {
        if (!PlainIsOfUse(layout, c, best, combination)) continue;
        ++out->judged;
        out->time_bound += left - 1;
        best = plain_us;
        winner = c;
        continue;
      }
    }
    by_time.clear();
    bool of_use = false;
    for (OpenFamily& open : families) of_use |= AddFaster(layout, best, given, &c, combination, &open, &by_time, out);
    if (!of_use) continue;
    std::sort(by_time.begin(), by_time.end());
    for (const TimedSet& timed : by_time) {
      if (Work::Spent()) break;
      if (Forbidden(layout, timed.family)) continue;
      Use(*combination->exchange, q_.execution.recomputes[timed.set], given, &c);
      UseOffload(q_.execution, timed.family->family->offload, &c);
      if (!Fits(c)) continue;
      best = timed.us;
      winner = c;
      break;
    }
  }
  if (winner.has_value()) out->found.push_back(Found(layout, *winner));
}

// The families of which something may be as good as `best`, the most promising first.
std::vector<LayoutJudge::LeastOfFamily> LayoutJudge::LeastOfFamilies(const Layout& layout, double best) const {
  std::vector<LeastOfFamily> open;
  for (const Family& family : families_) {
    const double least = bounds_.LeastBytes(layout.sizes, *layout.stages, family, nullptr, best);
    if (!Above(least, best)) open.push_back({least, &family});
  }
  std::stable_sort(open.begin(), open.end(),
                   [](const LeastOfFamily& a, const LeastOfFamily& b) { return a.least < b.least; });
  return open;
}

void LayoutJudge::JudgeMemory(const Layout& layout, double threshold, const std::vector<Combination>& combinations,
                              Judgement* out) const {
  Work::Spend(kWorkOfLayout);
  Candidate c = CandidateAt(q_, layout.sizes, layout.stages);
  const GivenOffload given = GivenOffloadOf(c);
  double best = std::nextafter(threshold, kNever);
  const double room = q_.memory.capacity > 0 ? std::nextafter(q_.room * q_.memory.capacity, kNever) : kNever;
  // What falls because it is above `best`: it cannot fit, or others leave more free.
  const auto falls = [&](int64_t sets) { (best < room ? out->time_bound : out->memory_bound) += sets; };
  best = std::min(best, room);
  std::vector<const Combination*> possible;
  for (const Combination& combination : combinations) {
    if (Possible(q_, layout.sizes, combination)) {
      possible.push_back(&combination);
    } else {
      out->incompatible += sets_;
    }
  }
  const std::vector<LeastOfFamily> families = LeastOfFamilies(layout, best);
  int64_t left = 0;  // sets in them
  for (const LeastOfFamily& open : families) left += static_cast<int64_t>(open.family->sets.size());
  falls((sets_ - left) * static_cast<int64_t>(possible.size()));
  std::optional<Candidate> winner;
  std::tuple<const Combination*, size_t, const Family*> winner_at;  // of equals the plainest
  for (const LeastOfFamily& open : families) {
    const Family& family = *open.family;
    for (const Combination* combination : possible) {
      if (Work::Spent()) break;
      if (Above(open.least, best) ||
          Above(bounds_.LeastBytes(layout.sizes, *layout.stages, family, combination, best), best)) {
        falls(static_cast<int64_t>(family.sets.size()));
        continue;
      }
      Use(q_, *combination, given, &c);
      UseOffload(q_.execution, family.offload, &c);
      for (const size_t r : family.sets) {
        const Recompute& recompute = q_.execution.recomputes[r];
        if (!Compatible(*combination->exchange, *combination->graphs, recompute) ||
            !Compatible(layout.sizes, recompute)) {
          ++out->incompatible;
          continue;
        }
        Use(*combination->exchange, recompute, given, &c);
        ++out->judged;
        if (Work::Spent()) break;
        const double bytes = MemoryOf(c).value;
        const std::tuple at(combination, r, &family);
        const bool plainer = winner.has_value() && bytes == best && at < winner_at;
        if ((bytes >= best && !plainer) || !Fits(bytes)) continue;
        if (HoldsAgainstHost(c) && !FitsHost(MemoryModel(*q_.shape, c, q_.memory.device), c)) continue;
        best = bytes;
        winner = c;
        winner_at = at;
      }
    }
  }
  if (winner.has_value()) out->found.push_back(Found(layout, *winner));
}

// What a layout has to reach to enter the list beside those of its mapping.
double LayoutJudge::ThresholdAmongAlike(const LayoutSizes& sizes, const std::vector<FoundPlan>& best) const {
  if (q_.keep_alike == 0) return kNever;
  const LayoutSizes mapping = MappingOf(sizes);
  size_t alike = 0;
  for (const FoundPlan& plan : best) {
    if (MappingOf(plan.sizes) == mapping && ++alike == q_.keep_alike) return Score(plan);
  }
  return kNever;
}

Judgement LayoutJudge::Judge(absl::Span<const Layout> layouts, double list_threshold,
                             const std::vector<FoundPlan>& best) const {
  Judgement out;
  Work::Spend(kWorkOfGroup);
  std::vector<Combination> combinations = CombinationsOf(q_.execution);
  StagesAtHand at_hand(q_);
  for (Layout layout : layouts) {
    if (Work::Spent()) break;  // what was judged so far is the best so far
    double threshold = std::min(list_threshold, ThresholdAmongAlike(layout.sizes, best));
    // Of the ways to split one layout's layers the best, and of equals the plainest.
    const bool other_split = !out.found.empty() && out.found.back().sizes == layout.sizes;
    const size_t known = out.found.size();
    if (other_split) {
      const FoundPlan& found = out.found.back();
      const double score = Score(found);
      threshold = std::min(threshold, layout.split_at < found.split ? score : std::nextafter(score, 0.0));
    }
    if (layout.bound > threshold) {
      out.time_bound += executions_;
      continue;
    }
    const std::shared_ptr<const StageLayout> stages = at_hand.Of(layout.sizes, *layout.split, layout.split_at);
    layout.stages = stages.get();
    if (ByTime()) {
      JudgeTime(layout, threshold / layout.caution, &combinations, &out);
    } else if (q_.memory.capacity > 0 && bounds_.StaticBytes(layout.sizes, *layout.stages) > q_.memory.capacity) {
      out.memory_bound += executions_;
    } else {
      JudgeMemory(layout, threshold, combinations, &out);
    }
    if (out.found.size() == known) continue;
    out.found.back().candidate.stages = nullptr;  // the search sees to those that it returns
    if (other_split) out.found.erase(out.found.end() - 2);
  }
  return out;
}

}  // namespace flightplan
