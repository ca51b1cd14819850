// What the ranks of a pipeline hold, as weights: with the times of a layer of each kind they say what a microbatch
// takes.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <vector>

#include "resolver/derive/candidate.h"
#include "resolver/estimate/work.h"

namespace flightplan {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Layers of each kind, and output layers last: on one pipeline rank, or on the mean one. Or the microseconds of one
// each.
using RankLoad = std::array<double, kMaxLayerKinds + 1>;

// What a rank has none of may take for ever.
inline double Dot(const RankLoad& load, const RankLoad& us) {
  double sum = 0;
  for (size_t i = 0; i < load.size(); ++i) {
    if (load[i] > 0) sum += load[i] * us[i];
  }
  return sum;
}

// What the bounds need of a way to cut the model into stages.
struct Split {
  std::vector<RankLoad> ranks;              // those that can be the slowest
  RankLoad all{};                           // of all ranks together
  std::shared_ptr<const StageLayout> held;  // null: made again where they are needed (planner/pipelines.h)
};
Split SplitOf(const ModelWork& work, const StageLayout& stages);

// Of the mean rank, which is the same however the layers are split.
RankLoad MeanLoad(const ModelWork& work, const StageLayout& stages);

inline double SlowestUs(const Split& split, const RankLoad& us) {
  double slowest = 0;
  for (const RankLoad& load : split.ranks) slowest = std::max(slowest, Dot(load, us));
  return slowest;
}

}  // namespace flightplan
