// The pipelines of a search: what the bounds need of each, and as many of their stages as there is room for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "resolver/planner/rank_load.h"
#include "resolver/planner/search.h"

namespace flightplan {

// Bytes of ranks' loads that one search holds, beside its stages (SearchQuestion::stage_bytes). Of what is more the
// bounds look at one rank of each pipeline.
inline constexpr size_t kMaxLoadBytes = size_t{16} << 20;

struct Pipeline {
  RankLoad mean{};            // of all ranks, which is the same however the layers are split
  std::vector<Split> splits;  // none: not legal
};

class Pipelines {
 public:
  // The question must outlive this.
  explicit Pipelines(const SearchQuestion& question) : q_(question) {}
  // Stays where it is.
  const Pipeline& Of(int pp, int vpp);
  // One that was asked for before: from any thread.
  const Pipeline& Known(int pp, int vpp) const { return *known_[static_cast<size_t>(pp)][static_cast<size_t>(vpp)]; }
  size_t stage_bytes() const { return stage_bytes_; }
  size_t load_bytes() const { return load_bytes_; }

 private:
  const SearchQuestion& q_;
  std::vector<std::vector<std::unique_ptr<Pipeline>>> known_;  // by pp, then vpp
  size_t stage_bytes_ = 0, load_bytes_ = 0;                    // held
};

// The stages of one layout after another, those of one pipeline made at most once while its layouts follow each other.
class StagesAtHand {
 public:
  // The question must outlive this.
  explicit StagesAtHand(const SearchQuestion& question) : q_(question) {}
  std::shared_ptr<const StageLayout> Of(const LayoutSizes& sizes, const Split& split, size_t split_at);

 private:
  const SearchQuestion& q_;
  int pp_ = 0, vpp_ = 0;
  std::vector<std::shared_ptr<const StageLayout>> made_;
};

}  // namespace flightplan
