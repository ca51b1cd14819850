#include "resolver/planner/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "resolver/base/work.h"
#include "resolver/planner/layout_judge.h"
#include "resolver/planner/layout_list.h"
#include "resolver/planner/pipelines.h"

namespace flightplan {
namespace {

// Groups of layouts between two calls of `progress` and two updates of the pruning threshold: a few milliseconds of
// work. Fixed, so that what is pruned does not depend on the number of threads.
constexpr size_t kBatch = 16;
// Sizes looked at between two looks at `work_limit`.
constexpr int64_t kVisitsPerLook = 4096;
// Of looking at sizes, at one way to split their layers, and at a load, in units of base/work.h; and of the times of
// one exchange, which the sizes of a group share.
constexpr size_t kWorkOfSizes = 32, kWorkOfSplit = 12, kWorkOfLoad = 6, kWorkOfFloor = 1024;

// Layouts of a group, which bounds what is found at a time: above what models of 130 layers have.
constexpr size_t kMostOfAGroup = 2048;

// Layouts that differ in their pipeline alone share the times of their layers.
struct Group {
  size_t begin = 0, end = 0;  // of the layouts
  double bound = 0;           // the best of theirs
};

class Searcher {
 public:
  explicit Searcher(const SearchQuestion& question)
      : q_(question),
        executions_(static_cast<int64_t>(question.execution.size())),
        judge_(question, /*counts=*/true),
        pipelines_(question) {}
  SearchResult Run();

 private:
  // `a` has the better first plan.
  bool Better(const std::vector<FoundPlan>& a, const std::vector<FoundPlan>& b) const {
    return !a.empty() && (b.empty() || judge_.Score(a.front()) < judge_.Score(b.front()));
  }
  void Consider(const LayoutSizes& sizes, double threshold, bool count, std::optional<Floor>* floor);
  void Enumerate(const LayoutQuestion& question, double threshold, bool count);
  bool GoesOn() const { return q_.progress == nullptr || q_.progress(progress_); }
  // What a layout has to reach to enter the list.
  double Threshold(const std::vector<FoundPlan>& best) const {
    return best.size() < q_.keep ? q_.limit : judge_.Score(best.back());
  }
  // False: the search is to stop.
  bool Report(double done, double best_us);
  // As the judge takes it.
  Layout LayoutAt(size_t at) const;
  void Keep(const FoundPlan& found, std::vector<FoundPlan>* best) const;
  void JudgeAll(bool count, std::vector<FoundPlan>* best);
  void GiveStages(std::vector<FoundPlan>* plans);

  const SearchQuestion& q_;
  const int64_t executions_;
  const LayoutJudge judge_;
  LayoutList layouts_;
  std::vector<Group> groups_;
  Pipelines pipelines_;
  SearchStatistics statistics_;
  SearchProgress progress_;
  int64_t work_ = 0;  // counted against the limit
};

// Sizes whose bound is below the threshold become layouts, one for each way to split the layers, the most promising
// first: the others then fall at a glance.
void Searcher::Consider(const LayoutSizes& sizes, double threshold, bool count, std::optional<Floor>* floor) {
  Work::Spend(kWorkOfSizes);
  const Pipeline& pipeline = pipelines_.Of(sizes.pp, sizes.vpp);
  if (pipeline.splits.empty()) return;
  const Bounds& bounds = judge_.bounds();
  const int64_t candidates = static_cast<int64_t>(pipeline.splits.size()) * executions_;
  if (count) ++statistics_.layouts, statistics_.space += candidates;
  if (q_.memory.capacity > 0 && bounds.InputBytes(sizes) > q_.memory.capacity) {
    if (count) statistics_.memory_bound += candidates;
    return;
  }
  const double caution = judge_.Caution(sizes);
  const auto above = [&](double slowest_us) { return caution * bounds.TimeUs(sizes, slowest_us, (*floor)->all); };
  if (judge_.ByTime()) {
    // The cheapest bound first: most layouts fall at the mean stage without their exchanges, whatever their split.
    if (!floor->has_value()) {
      Work::Spend(kWorkOfFloor);
      *floor = bounds.ComputeFloorOf(sizes);
    }
    double bound = above(Dot(pipeline.mean, (*floor)->whole));
    if (!(*floor)->complete && bound <= threshold) {
      Work::Spend(kWorkOfFloor * q_.execution.exchanges.size());
      bounds.Complete(sizes, &**floor);
      bound = above(Dot(pipeline.mean, (*floor)->whole));
    }
    if (bound > threshold) {
      if (count) statistics_.time_bound += candidates;
      return;
    }
  }
  const size_t first_split = layouts_.size();
  for (size_t i = 0; i < pipeline.splits.size(); ++i) {
    const Split& split = pipeline.splits[i];
    Work::Spend(kWorkOfSplit + kWorkOfLoad * split.ranks.size());
    const double bound = judge_.ByTime() ? above(SlowestUs(split, (*floor)->whole)) : 0;
    if (bound <= threshold) {
      layouts_.Add(sizes, caution, i, bound);
    } else if (count) {
      statistics_.time_bound += executions_;
    }
  }
  layouts_.Sort(first_split);
}

// The legal layouts whose bound is below the threshold, in groups, the most promising first.
void Searcher::Enumerate(const LayoutQuestion& question, double threshold, bool count) {
  layouts_.Clear();
  groups_.clear();
  std::optional<Floor> floor;  // of the group of sizes at hand
  size_t begin = 0;            // of its layouts
  int64_t visited = 0;
  const auto close_group = [&] {
    if (layouts_.size() > begin) groups_.push_back({begin, layouts_.size(), kNever});
    begin = layouts_.size();
  };
  VisitLayouts(
      *q_.shape, question,
      [&](const LayoutSizes&) {
        close_group();
        floor.reset();
      },
      [&](const LayoutSizes& sizes) {
        ++work_;
        if (Work::Spent() || (++visited % kVisitsPerLook == 0 && !Report(0, 0))) return false;
        if (layouts_.size() >= begin + kMostOfAGroup) close_group();
        Consider(sizes, threshold, count, &floor);
        if (layouts_.size() >= kMaxLayouts) statistics_.cut = true;
        return layouts_.size() < kMaxLayouts;
      });
  close_group();
  if (Work::Spent()) statistics_.stopped = true;
  if (!judge_.ByTime()) {
    q_.parallel(layouts_.size(), [&](size_t from, size_t to) {
      StagesAtHand at_hand(q_);
      for (size_t i = from; i < to; ++i) {
        if (Work::Spent()) return;
        const Layout layout = LayoutAt(i);
        const auto stages = at_hand.Of(layout.sizes, *layout.split, layout.split_at);
        layouts_.SetBound(i, judge_.bounds().StaticBytes(layout.sizes, *stages));
      }
    });
  }
  for (Group& group : groups_) {
    for (size_t i = group.begin; i < group.end; ++i) group.bound = std::min(group.bound, layouts_.Bound(i));
  }
  std::sort(groups_.begin(), groups_.end(),
            [](const Group& a, const Group& b) { return std::tie(a.bound, a.begin) < std::tie(b.bound, b.begin); });
}

bool Searcher::Report(double done, double best_us) {
  progress_ = {done, statistics_.judged, best_us};
  if (q_.work_limit > 0 && work_ > q_.work_limit) statistics_.stopped = true;
  if (Work::Spent() || !GoesOn()) statistics_.stopped = true;
  return !statistics_.stopped;
}

Layout Searcher::LayoutAt(size_t at) const {
  const LayoutSizes& sizes = layouts_.SizesOf(at);
  const size_t split = layouts_.SplitOf(at);
  return {sizes,
          split,
          &pipelines_.Known(sizes.pp, sizes.vpp).splits[split],
          nullptr,
          layouts_.CautionOf(at),
          layouts_.Bound(at)};
}

// The list stays sorted. It does not depend on the order in which layouts come: what leaves it has enough better ones
// in it, of its mapping or of all.
void Searcher::Keep(const FoundPlan& found, std::vector<FoundPlan>* best) const {
  const auto better = [&](const FoundPlan& a, const FoundPlan& b) {
    return std::make_tuple(judge_.Score(a), a.sizes) < std::make_tuple(judge_.Score(b), b.sizes);
  };
  best->insert(std::upper_bound(best->begin(), best->end(), found, better), found);
  if (q_.keep_alike > 0) {
    const LayoutSizes mapping = MappingOf(found.sizes);
    size_t alike = 0;
    for (auto it = best->begin(); it != best->end(); ++it) {
      if (MappingOf(it->sizes) != mapping || ++alike <= q_.keep_alike) continue;
      best->erase(it);
      break;
    }
  }
  if (best->size() > q_.keep) best->pop_back();
}

// Judges the groups at hand in the order in which they can win, until none can enter the list any more.
void Searcher::JudgeAll(bool count, std::vector<FoundPlan>* best) {
  std::vector<Judgement> judgements;
  for (size_t at = 0; at < groups_.size(); at += kBatch) {
    const size_t end = std::min(groups_.size(), at + kBatch);
    const double threshold = Threshold(*best);
    if (groups_[at].bound > threshold) {
      for (size_t i = at; count && i < groups_.size(); ++i) {
        statistics_.time_bound += static_cast<int64_t>(groups_[i].end - groups_[i].begin) * executions_;
      }
      return;
    }
    const double done = count ? static_cast<double>(at) / static_cast<double>(groups_.size()) : 0;
    if (!Report(done, best->empty() ? 0 : best->front().step.us)) return;
    judgements.assign(end - at, {});
    q_.parallel(end - at, [&](size_t from, size_t to) {
      std::vector<Layout> layouts;
      for (size_t i = from; i < to; ++i) {
        const Group& group = groups_[at + i];
        layouts.clear();
        for (size_t one = group.begin; one < group.end; ++one) layouts.push_back(LayoutAt(one));
        judgements[i] = judge_.Judge(layouts, threshold, *best);
      }
    });
    for (const Judgement& judgement : judgements) {
      work_ += judgement.judged;
      if (count) {
        statistics_.judged += judgement.judged;
        statistics_.memory_bound += judgement.memory_bound;
        statistics_.time_bound += judgement.time_bound;
        statistics_.incompatible += judgement.incompatible;
      }
      for (const FoundPlan& found : judgement.found) Keep(found, best);
    }
    if (Work::Spent()) break;
  }
  if (Work::Spent()) statistics_.stopped = true;
}

// Plans of one pipeline share its stages.
void Searcher::GiveStages(std::vector<FoundPlan>* plans) {
  StagesAtHand at_hand(q_);
  for (auto plan = plans->begin(); plan != plans->end(); ++plan) {
    const auto same = std::find_if(plans->begin(), plan, [&](const FoundPlan& other) {
      return std::tie(other.sizes.pp, other.sizes.vpp, other.split) ==
             std::tie(plan->sizes.pp, plan->sizes.vpp, plan->split);
    });
    const Split& split = pipelines_.Of(plan->sizes.pp, plan->sizes.vpp).splits[plan->split];
    plan->stages = same != plan ? same->stages : at_hand.Of(plan->sizes, split, plan->split);
    plan->candidate.stages = plan->stages.get();
  }
}

SearchResult Searcher::Run() {
  const Work work(q_.units > 0 ? q_.units : std::numeric_limits<uint64_t>::max(), [this] { return !GoesOn(); });
  SearchResult result;
  double threshold = q_.limit;
  std::vector<FoundPlan> usual;
  LayoutQuestion corner = q_.layout;
  if (corner.wish.cp == 0) corner.wish.cp = 1;
  if (corner.wish.etp == 0) corner.wish.etp = 1;
  if (corner.wish.micro_batch_size == 0) corner.wish.micro_batch_size = 1;
  if (judge_.ByTime() && corner.wish != q_.layout.wish && q_.limit == kNever) {
    // The usual corner: what it finds is found again below, so only its threshold is kept, unless the search is
    // stopped.
    Enumerate(corner, kNever, /*count=*/false);
    if (!statistics_.stopped) JudgeAll(/*count=*/false, &result.plans);
    threshold = Threshold(result.plans);
    usual.swap(result.plans);
  }
  if (!statistics_.stopped) {
    Enumerate(q_.layout, threshold, /*count=*/true);
    if (!statistics_.stopped) JudgeAll(/*count=*/true, &result.plans);
  }
  if (statistics_.stopped && Better(usual, result.plans)) result.plans.swap(usual);
  GiveStages(&result.plans);
  result.statistics = statistics_;
  result.statistics.units = work.used();
  return result;
}

}  // namespace

void RunInOrder(size_t count, const std::function<void(size_t begin, size_t end)>& body) { body(0, count); }

SearchResult Search(const SearchQuestion& question) { return Searcher(question).Run(); }

std::optional<FoundPlan> SearchExecutions(const SearchQuestion& question, const LayoutSizes& sizes,
                                          const StageLayout& stages, double limit_us, const OfUse& of_use) {
  const Split split = SplitOf(*question.work, stages);
  std::vector<Combination> combinations = CombinationsOf(question.execution);
  Judgement out;
  LayoutJudge(question, /*counts=*/false, of_use)
      .JudgeTime({sizes, 0, &split, &stages, 1, 0}, std::nextafter(limit_us, 0.0), &combinations, &out);
  if (out.found.empty()) return std::nullopt;
  return out.found.front();
}

}  // namespace flightplan
