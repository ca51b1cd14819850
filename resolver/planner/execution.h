// Ways to execute a layout, as the search goes through them: a combination of exchange and graphs, and within it
// recompute sets in families that share a bound of their memory.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "resolver/estimate/layer_time.h"
#include "resolver/planner/rank_load.h"
#include "resolver/planner/search.h"

namespace flightplan {

inline constexpr float kNoOffload = 0;

struct TimedLayers {
  TimedLayers(const LayerTimer& timer, const Candidate& c) : times(timer.Time(c)) {
    for (size_t k = 0; k < times.kinds.size(); ++k) pairs[k] = times.kinds[k].pair;
    pairs.back() = times.head.pair;
  }
  const LayerTimes times;
  RankLoad pairs{};  // of one layer and of the head: forward and backward, exchanges as they overlap
};

// A combination of exchange and graphs.
struct Combination {
  const Exchange* exchange = nullptr;
  const Graphs* graphs = nullptr;
  // What is the same for all recompute sets, and times of the layers by set, worked out when they are needed first:
  // most never are, and each is large.
  std::unique_ptr<const LayerTimer> timer;
  std::vector<std::unique_ptr<const TimedLayers>> times;
  std::optional<TimedLayers> passing;  // instead, where each set is timed once
};

// Recompute sets with one offload that keep at least as much as the one that recomputes most of them.
struct Family {
  Recompute most;
  float offload = 0;
  std::vector<size_t> sets;
};

std::vector<Family> FamiliesOf(const ExecutionSpace& execution);
// Computes again whatever one of them does, and more: what comes on top takes time and makes nothing faster.
bool AddsToAny(const std::vector<Recompute>& sets, const Recompute& recompute);
std::vector<Combination> CombinationsOf(const ExecutionSpace& execution);
bool Possible(const SearchQuestion& question, const LayoutSizes& sizes, const Combination& combination);

// A candidate of the question's base with these sizes, executed as the base is.
Candidate CandidateAt(const SearchQuestion& question, const LayoutSizes& sizes, const StageLayout* stages);
// Without recompute, and without offload beyond what is given.
void Use(const SearchQuestion& question, const Combination& combination, const GivenOffload& given, Candidate* c);
void Use(const Exchange& exchange, const Recompute& recompute, const GivenOffload& given, Candidate* c);
void UseOffload(const ExecutionSpace& execution, float offload, Candidate* c);

}  // namespace flightplan
