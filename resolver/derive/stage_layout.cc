#include "resolver/derive/stage_layout.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "resolver/derive/placement.h"
#include "resolver/plan/pipeline_layout.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr int64_t kMaxStages = 4096;  // beyond any real pipeline; keeps absurd sizes cheap
constexpr int64_t kMaxChunks = 1 << 15;

std::vector<int64_t> EvenCells(int64_t cells, int64_t stages) {
  std::vector<int64_t> sizes(static_cast<size_t>(stages), cells / stages);
  for (int64_t i = 0; i < cells % stages; ++i) ++sizes[static_cast<size_t>(i)];
  return sizes;
}

// The embedding and the loss may each take the place of one layer.
struct Ends {
  int64_t embedding = 0, loss = 0;
};

Ends EndsThatCount(int64_t ranks, const Config& config) {
  const auto one = [&](K knob) { return ranks > 1 && config.Get(knob).truthy() ? 1 : 0; };
  return {one(K::account_for_embedding_in_pipeline_split), one(K::account_for_loss_in_pipeline_split)};
}

// Decoder layers of each pipeline rank without a layout string, with the places of what counts as one.
std::vector<int64_t> RankSizes(int64_t layers, int64_t ranks, const Ends& ends, const Config& config) {
  if (ends.embedding + ends.loss > 0) return EvenCells(layers + ends.embedding + ends.loss, ranks);
  const Value& first = config.Get(K::num_layers_in_first_pipeline_stage);
  const Value& last = config.Get(K::num_layers_in_last_pipeline_stage);
  const bool fix_first = first.is_int() && ranks > 1;
  const bool fix_last = last.is_int() && ranks > 1;
  const int64_t at_first = fix_first ? std::clamp<int64_t>(first.integer(), 0, layers) : 0;
  const int64_t at_last = fix_last ? std::clamp<int64_t>(last.integer(), 0, layers - at_first) : 0;
  const int64_t open = ranks - (fix_first ? 1 : 0) - (fix_last ? 1 : 0);
  std::vector<int64_t> sizes = open > 0 ? EvenCells(layers - at_first - at_last, open) : std::vector<int64_t>{};
  if (fix_first) sizes.insert(sizes.begin(), at_first);
  if (fix_last) sizes.push_back(at_last);
  return sizes;
}

// The written layout, when it reads and holds the model's layers.
std::vector<ChunkContents> FromLayout(const ModelShape& shape, const PipelineLayout& layout) {
  std::vector<ChunkContents> chunks(layout.stages.size());
  int64_t next = 0;
  for (size_t i = 0; i < layout.stages.size(); ++i) {
    const int64_t begin = next;
    for (char letter : layout.stages[i]) {
      if (letter == 't') ++next;
      if (letter == 'E') chunks[i].embedding = true;
      if (letter == 'L') chunks[i].loss = true;
      if (letter == 'm' && chunks[i].mtp_depths < 255) ++chunks[i].mtp_depths;
    }
    chunks[i].layers = shape.Count(begin, next);
  }
  return chunks;
}

void Add(const ChunkContents& chunk, RankContents* sum) {
  for (size_t k = 0; k < sum->layers.size(); ++k) {
    sum->layers[k] = static_cast<uint16_t>(sum->layers[k] + chunk.layers[k]);
  }
  sum->mtp_depths = static_cast<uint16_t>(sum->mtp_depths + chunk.mtp_depths);
  sum->losses = static_cast<uint16_t>(sum->losses + (chunk.loss ? 1 : 0));
  sum->embeddings = static_cast<uint16_t>(sum->embeddings + (chunk.embedding ? 1 : 0));
}

// The layers between the bars of a hybrid pattern; empty where it has none.
std::vector<int64_t> BetweenBars(absl::string_view pattern) {
  std::vector<int64_t> sizes;
  const absl::string_view decoder = pattern.substr(0, pattern.find('/'));
  if (!absl::StrContains(decoder, '|')) return sizes;
  for (const absl::string_view part : absl::StrSplit(decoder, '|')) {
    sizes.push_back(static_cast<int64_t>(part.size()));
  }
  return sizes;
}

bool SameContents(const RankContents& a, const RankContents& b) {
  return a.layers == b.layers && a.mtp_depths == b.mtp_depths && a.losses == b.losses && a.embeddings == b.embeddings;
}

}  // namespace

int ChunkContents::Layers() const {
  int sum = 0;
  for (uint16_t count : layers) sum += count;
  return sum;
}

RankContents ContentsOf(const StageLayout& layout, int rank) {
  RankContents sum;
  sum.rank = rank;
  for (int j = 0; j < layout.vpp; ++j) Add(layout.chunk(rank, j), &sum);
  return sum;
}

RankContents ContentsOf(const ChunkContents& chunk) {
  RankContents own;
  Add(chunk, &own);
  return own;
}

StageLayout MakeStageLayout(int pp, int vpp, std::vector<ChunkContents> chunks, StageLayout known) {
  if (known.pp == pp && known.vpp == vpp && known.chunks == chunks) return known;
  StageLayout layout{pp, vpp, std::move(chunks), {}, {}, {}};
  const auto same = [&](int a, int b) {
    for (int j = 0; j < vpp; ++j) {
      if (layout.chunk(a, j) != layout.chunk(b, j)) return false;
    }
    return true;
  };
  size_t at = 0;  // of layout.contents: the rank's own
  for (int rank = 0; rank < pp; ++rank) {
    if (rank > 0 && same(rank, rank - 1)) {
      ++layout.contents[at].ranks_alike;
      continue;
    }
    layout.distinct_ranks.push_back(rank);
    const RankContents own = ContentsOf(layout, rank);
    const auto alike = std::find_if(layout.contents.begin(), layout.contents.end(),
                                    [&](const RankContents& other) { return SameContents(own, other); });
    at = static_cast<size_t>(alike - layout.contents.begin());
    if (alike == layout.contents.end()) {
      layout.contents.push_back(own);
    } else {
      ++alike->ranks_alike;
    }
  }
  return layout;
}

StageLayout StagesOfSizes(const ModelShape& shape, int pp, int vpp, const std::vector<int64_t>& sizes,
                          StageLayout known) {
  std::vector<ChunkContents> chunks(sizes.size());
  int64_t next = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    chunks[i].layers = shape.Count(next, next + sizes[i]);
    next += sizes[i];
  }
  chunks.front().embedding = true;
  chunks.back().loss = true;
  chunks.back().mtp_depths = static_cast<uint8_t>(std::min<int64_t>(shape.mtp_depths, 255));
  return MakeStageLayout(pp, vpp, std::move(chunks), std::move(known));
}

StageLayout StagesOf(const ModelShape& shape, const Config& config, StageLayout known) {
  const int64_t ranks = std::min(SizeOf(config, K::pipeline_model_parallel_size), kMaxStages);
  int64_t virtual_stages = SizeOf(config, K::virtual_pipeline_model_parallel_size);
  const Value& written = config.Get(K::pipeline_model_parallel_layout);
  if (!written.is_none() && ranks > 1) {
    const PipelineLayout layout = ParsePipelineLayout(written, ranks);
    if (layout.fault == PipelineLayout::Fault::kNone && layout.Count('t') == shape.num_layers) {
      return MakeStageLayout(static_cast<int>(ranks), static_cast<int>(layout.virtual_size), FromLayout(shape, layout),
                             std::move(known));
    }
  }
  const std::vector<int64_t> bars = BetweenBars(config.Get(K::hybrid_layer_pattern).text());
  const auto segments = static_cast<int64_t>(bars.size());
  if (ranks > 1 && segments > 0 && segments % ranks == 0 && segments <= kMaxChunks &&
      std::accumulate(bars.begin(), bars.end(), int64_t{0}) == shape.num_layers) {
    return StagesOfSizes(shape, static_cast<int>(ranks), static_cast<int>(segments / ranks), bars, std::move(known));
  }
  const Ends ends = EndsThatCount(ranks, config);
  const std::vector<int64_t> rank_sizes = RankSizes(shape.num_layers, ranks, ends, config);
  const int64_t per_virtual = config.Get(K::num_layers_per_virtual_pipeline_stage).integer();
  if (virtual_stages <= 1 && per_virtual > 0) virtual_stages = std::max<int64_t>(1, rank_sizes.front() / per_virtual);
  if (virtual_stages <= 1) virtual_stages = SizeOf(config, K::num_virtual_stages_per_pipeline_rank);
  if (ranks == 1) virtual_stages = 1;
  virtual_stages = std::min(virtual_stages, kMaxChunks / ranks);
  std::vector<int64_t> sizes;
  sizes.reserve(static_cast<size_t>(ranks * virtual_stages));
  for (int64_t j = 0; j < virtual_stages; ++j) {
    // A size that does not divide is a rule's finding; here the first chunks take the rest.
    for (int64_t size : rank_sizes) sizes.push_back(size / virtual_stages + (j < size % virtual_stages ? 1 : 0));
  }
  // Upstream divides first: the first and the last virtual stage give up the layer (transformer_block.py:191).
  sizes.front() = std::max<int64_t>(0, sizes.front() - ends.embedding);
  sizes.back() = std::max<int64_t>(0, sizes.back() - ends.loss);
  return StagesOfSizes(shape, static_cast<int>(ranks), static_cast<int>(virtual_stages), sizes, std::move(known));
}

}  // namespace flightplan
