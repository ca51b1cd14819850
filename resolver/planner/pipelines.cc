#include "resolver/planner/pipelines.h"

namespace flightplan {
namespace {

size_t BytesOf(const StageLayout& stages) {
  size_t bytes = sizeof(StageLayout) + stages.chunks.size() * sizeof(ChunkContents) +
                 stages.distinct_ranks.size() * sizeof(int) + stages.contents.size() * sizeof(RankContents);
  if (stages.steady != nullptr) {
    bytes += stages.steady->chunks.size() * sizeof(RankContents) + stages.steady->pairs.size() * sizeof(PassPair) +
             stages.steady->slots.size() * sizeof(SteadyPasses::Slot);
  }
  return bytes;
}

}  // namespace

const Pipeline& Pipelines::Of(int pp, int vpp) {
  const auto at = static_cast<size_t>(pp), of = static_cast<size_t>(vpp);
  if (known_.size() <= at) known_.resize(at + 1);
  if (known_[at].size() <= of) known_[at].resize(of + 1);
  std::unique_ptr<Pipeline>& pipeline = known_[at][of];
  if (pipeline != nullptr) return *pipeline;
  pipeline = std::make_unique<Pipeline>();
  std::vector<std::shared_ptr<const StageLayout>> made = q_.stages(pp, vpp);
  if (made.empty()) return *pipeline;
  size_t stage_bytes = 0;
  pipeline->splits.reserve(made.size());
  for (const std::shared_ptr<const StageLayout>& stages : made) {
    Split& split = pipeline->splits.emplace_back(SplitOf(*q_.work, *stages));
    size_t load_bytes = sizeof(Split) + split.ranks.size() * sizeof(RankLoad);
    if (load_bytes_ + load_bytes > kMaxLoadBytes && split.ranks.size() > 1) {
      // Any of them is a bound, if not the best.
      split.ranks = {split.ranks.front()};
      load_bytes = sizeof(Split) + sizeof(RankLoad);
    }
    load_bytes_ += load_bytes;
    stage_bytes += BytesOf(*stages);
  }
  pipeline->mean = MeanLoad(*q_.work, *made.front());
  if (stage_bytes_ + stage_bytes > q_.stage_bytes) return *pipeline;
  stage_bytes_ += stage_bytes;
  for (size_t i = 0; i < made.size(); ++i) pipeline->splits[i].held = std::move(made[i]);
  return *pipeline;
}

std::shared_ptr<const StageLayout> StagesAtHand::Of(const LayoutSizes& sizes, const Split& split, size_t split_at) {
  if (split.held != nullptr) return split.held;
  if (made_.empty() || pp_ != sizes.pp || vpp_ != sizes.vpp) {
    made_ = q_.stages(sizes.pp, sizes.vpp);
    pp_ = sizes.pp, vpp_ = sizes.vpp;
  }
  return made_[split_at];
}

}  // namespace flightplan
