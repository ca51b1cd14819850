// Judges layouts one by one: the best way to execute each, by time or by memory, if it can enter the list at all.
#pragma once

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "resolver/planner/bounds.h"
#include "resolver/planner/execution.h"
#include "resolver/planner/search.h"

namespace flightplan {

struct Layout {
  LayoutSizes sizes;
  size_t split_at = 0;                  // among the ways to split its layers
  const Split* split = nullptr;         // of the pipeline, which stays where it is
  const StageLayout* stages = nullptr;  // while it is judged
  double caution = 1;                   // of its sizes
  double bound = 0;                     // no execution is better: microseconds as they count, or bytes
};

// What a group of layouts came to, and what it took.
struct Judgement {
  std::vector<FoundPlan> found;
  int64_t judged = 0, memory_bound = 0, time_bound = 0, incompatible = 0;
};

class LayoutJudge {
 public:
  // The question must outlive this. `counts`: what was judged and what was not is told with the result, and the memory
  // of what was found. `of_use`: as SearchExecutions takes it.
  LayoutJudge(const SearchQuestion& question, bool counts, OfUse of_use = nullptr);

  const Bounds& bounds() const { return bounds_; }
  bool ByTime() const { return q_.objective == SearchObjective::kStepTime; }
  // The figure that is made small.
  double Score(const FoundPlan& plan) const { return ByTime() ? plan.step.us * plan.caution : plan.memory.value; }
  double Caution(const LayoutSizes& sizes) const {
    return ByTime() && q_.caution.has_value() ? 1 + CautionRatio(sizes, *q_.caution) : 1;
  }

  // Layouts that share the times of their layers. `best`: the list so far, the best first; what cannot come before
  // `list_threshold` need not be found.
  Judgement Judge(absl::Span<const Layout> layouts, double list_threshold, const std::vector<FoundPlan>& best) const;
  // The way to execute one layout that ranks first, and takes no more than `threshold` with what its own execution
  // counts for; what the sizes count for left out.
  void JudgeTime(const Layout& layout, double threshold, std::vector<Combination>* combinations, Judgement* out) const;

 private:
  struct OpenFamily {
    const Family* family;
    std::optional<bool> forbidden;  // by memory; not known yet
  };
  struct LeastOfFamily {
    double least;  // bytes
    const Family* family;
  };
  // A recompute set of a family.
  struct TimedSet {
    double us;  // as it counts
    size_t set;
    OpenFamily* family;
    bool operator<(const TimedSet& other) const {
      return std::tie(us, set, family->family->offload) < std::tie(other.us, other.set, other.family->family->offload);
    }
  };

  FoundPlan Found(const Layout& layout, const Candidate& c) const;
  const TimedLayers& TimedOf(const Candidate& c, size_t recompute, Combination* combination) const;
  double TimeOf(const Layout& layout, const Candidate& c, double limit, size_t recompute, Combination* combination,
                StepForecast* step) const;
  double Weight(const LayoutSizes& sizes, const Candidate& c) const;
  bool IsOfUse(const StepForecast& step) const { return of_use_ == nullptr || of_use_(step); }
  Band MemoryOf(const Candidate& c) const;
  bool Fits(double bytes) const { return q_.memory.capacity <= 0 || bytes <= q_.room * q_.memory.capacity; }
  bool Fits(const Candidate& c) const;
  bool HoldsAgainstHost(const Candidate& c) const;
  bool FitsHost(const MemoryModel& model, const Candidate& c) const;
  std::vector<std::pair<double, Combination*>> Plain(const Layout& layout, double best, Candidate* c,
                                                     std::vector<Combination>* combinations, Judgement* out) const;
  bool PlainIsOfUse(const Layout& layout, const Candidate& c, double best, Combination* combination) const;
  std::vector<OpenFamily> OpenFamilies(const Layout& layout) const;
  bool AddFaster(const Layout& layout, double best, const GivenOffload& given, Candidate* c, Combination* combination,
                 OpenFamily* open, std::vector<TimedSet>* faster, Judgement* out) const;
  bool Forbidden(const Layout& layout, OpenFamily* open) const;
  std::vector<LeastOfFamily> LeastOfFamilies(const Layout& layout, double best) const;
  void JudgeMemory(const Layout& layout, double threshold, const std::vector<Combination>& combinations,
                   Judgement* out) const;
  double ThresholdAmongAlike(const LayoutSizes& sizes, const std::vector<FoundPlan>& best) const;

  const SearchQuestion& q_;
  const bool counts_;
  const OfUse of_use_;
  const int64_t executions_, sets_;
  const bool plain_is_open_;  // no recompute and no offload are among the executions
  const std::vector<Family> families_;
  const Bounds bounds_;
};

}  // namespace flightplan
