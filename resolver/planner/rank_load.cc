#include "resolver/planner/rank_load.h"

namespace flightplan {

namespace {

RankLoad LoadOf(const ModelWork& work, const RankContents& rank) {
  RankLoad load{};
  for (size_t k = 0; k < static_cast<size_t>(work.kind_count); ++k) {
    load[k] = rank.layers[k] + rank.mtp_depths * static_cast<double>(work.mtp_layers[k]);
  }
  load.back() = HeadsOf(work, rank);
  return load;
}

// Without the ranks that have no more of anything than another.
std::vector<RankLoad> SlowestLoads(const ModelWork& work, const StageLayout& stages) {
  const auto below = [](const RankLoad& a, const RankLoad& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] > b[i]) return false;
    }
    return true;
  };
  std::vector<RankLoad> slowest;
  for (const RankContents& rank : stages.contents) {
    const RankLoad load = LoadOf(work, rank);
    const auto over = [&](const RankLoad& other) { return below(load, other); };
    if (std::any_of(slowest.begin(), slowest.end(), over)) continue;
    std::erase_if(slowest, [&](const RankLoad& other) { return below(other, load); });
    slowest.push_back(load);
  }
  return slowest;
}

}  // namespace

Split SplitOf(const ModelWork& work, const StageLayout& stages) {
  Split split{SlowestLoads(work, stages), {}, nullptr};
  for (const RankContents& rank : stages.contents) {
    const RankLoad load = LoadOf(work, rank);
    for (size_t k = 0; k < load.size(); ++k) split.all[k] += load[k] * rank.ranks_alike;
  }
  return split;
}

RankLoad MeanLoad(const ModelWork& work, const StageLayout& stages) {
  RankLoad mean{};
  for (const RankContents& rank : stages.contents) {
    const RankLoad load = LoadOf(work, rank);
    for (size_t k = 0; k < load.size(); ++k) mean[k] += load[k] * rank.ranks_alike / stages.pp;
  }
  return mean;
}

}  // namespace flightplan
