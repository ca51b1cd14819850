#include "resolver/derive/pipeline.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "resolver/base/integers.h"
#include "resolver/plan/pipeline_layout.h"

namespace flightplan {
namespace {

constexpr absl::string_view kHybridLayersAndPipe = "MG*D+-E|";
constexpr absl::string_view kHybridLayers = kHybridLayersAndPipe.substr(0, kHybridLayersAndPipe.size() - 1);

bool IsHybridPart(absl::string_view part, bool pipes) {
  if (part.find_first_not_of(pipes ? kHybridLayersAndPipe : kHybridLayers) != absl::string_view::npos) return false;
  const bool attention = absl::StrContains(part, '*');
  return !attention || part.find_first_of("D+") == absl::string_view::npos;
}

// How long the last stage's tail takes against layers with as many matrix products: a quarter where layers spend their
// time on other work (small experts), four times where only layers run in 4 bits.
constexpr double kTails[] = {0.25, 0.5, 1, 2, 4};

// `cells` over `parts`, the later ones taking what does not come out even: of a rank's chunks they hold their
// activations for the shorter time.
std::vector<int64_t> Spread(int64_t cells, int64_t parts) {
  std::vector<int64_t> sizes(static_cast<size_t>(parts), cells / parts);
  for (int64_t i = parts - cells % parts; i < parts; ++i) ++sizes[static_cast<size_t>(i)];
  return sizes;
}

// Every rank the same share, of which the last one's tail is `tail` layers. Empty: a stage would hold nothing.
std::vector<int64_t> SplitWithTail(int64_t layers, int64_t pp, int64_t vpp, int64_t tail) {
  std::vector<int64_t> ranks(static_cast<size_t>(pp), (layers + tail) / pp);
  // Of the ranks before the last the later ones hold fewer microbatches.
  const auto rest = static_cast<size_t>((layers + tail) % pp);
  for (size_t i = 0; i < rest; ++i) ++ranks[ranks.size() - 2 - i];
  ranks.back() -= tail;
  if (ranks.front() < vpp || ranks.back() < vpp - 1) return {};
  std::vector<int64_t> stages(static_cast<size_t>(pp * vpp));
  for (int64_t rank = 0; rank < pp; ++rank) {
    const int64_t own = ranks[static_cast<size_t>(rank)];
    std::vector<int64_t> chunks = Spread(own, vpp);
    if (rank == pp - 1 && vpp > 1) {
      const int64_t last = std::max<int64_t>(0, (own + tail) / vpp - tail);
      chunks = Spread(own - last, vpp - 1);
      chunks.push_back(last);
    }
    for (int64_t j = 0; j < vpp; ++j) stages[static_cast<size_t>(j * pp + rank)] = chunks[static_cast<size_t>(j)];
  }
  return stages;
}

}  // namespace

std::optional<int64_t> LayoutStages(absl::string_view layout) {
  const PipelineLayout read = ParsePipelineLayout(Value(layout), 1);
  if (read.fault != PipelineLayout::Fault::kNone) return std::nullopt;
  return static_cast<int64_t>(read.stages.size());
}

std::optional<HybridPattern> ReadHybridPattern(absl::string_view pattern) {
  if (pattern.empty()) pattern = "";  // StrSplit makes no part at all of a view of nothing
  const std::vector<absl::string_view> parts = absl::StrSplit(pattern, '/');
  HybridPattern out;
  const absl::string_view main = parts[0];
  if (!IsHybridPart(main, /*pipes=*/true)) return std::nullopt;
  for (char c : main) {
    if (c == '|') {
      ++out.segments;
    } else {
      ++out.layers;
    }
  }
  out.has_pipe = out.segments > 1;
  out.has_dsa = absl::StrContains(pattern, 'D');
  out.has_mla = pattern.find_first_of("D+") != absl::string_view::npos;
  bool any = false;
  for (size_t i = 1; i < parts.size(); ++i) any = any || !parts[i].empty();
  if (!any) return out;
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] != parts[1] || !IsHybridPart(parts[i], /*pipes=*/false)) return std::nullopt;
  }
  out.mtp_depths = static_cast<int64_t>(parts.size()) - 1;
  return out;
}

std::optional<int64_t> VirtualStages(int64_t layers, int64_t pipeline_size, int64_t layers_per_virtual_stage) {
  if (!Divisible(layers, pipeline_size)) return std::nullopt;
  const int64_t per_stage = FloorDiv(layers, pipeline_size);
  if (!Divisible(per_stage, layers_per_virtual_stage)) return std::nullopt;
  return FloorDiv(per_stage, layers_per_virtual_stage);
}

std::vector<int64_t> BalancedStages(int64_t layers, int64_t mtp, int64_t stages) {
  const int64_t units = layers + mtp + 2;
  std::vector<int64_t> decoder(static_cast<size_t>(stages), units / stages);
  int64_t rest = units % stages;
  for (size_t i = 1; i + 1 < decoder.size() && rest > 0; ++i, --rest) ++decoder[i];
  if (rest > 0) ++decoder.back();
  decoder.front() -= 1;       // the embedding's place
  decoder.back() -= 1 + mtp;  // loss and MTP
  // A tail too heavy for its share takes no decoder layer; what is missing is taken in turns from the stages before it,
  // from the embedding's only when the others have none left.
  int64_t missing = -std::min<int64_t>(0, decoder.back());
  decoder.back() += missing;
  for (size_t first = 1; missing > 0;) {
    const int64_t before = missing;
    for (size_t i = decoder.size() - 1; i-- > first && missing > 0;) {
      const int64_t given = std::clamp<int64_t>(decoder[i], 0, 1);
      decoder[i] -= given;
      missing -= given;
    }
    if (missing < before) continue;
    if (first == 0) break;  // fewer cells than stages: not what this is for
    first = 0;
  }
  return decoder;
}

std::vector<std::vector<int64_t>> StageSplits(int64_t layers, int64_t mtp, int64_t pp, int64_t vpp, double tail) {
  const int64_t stages = pp * vpp;
  std::vector<std::vector<int64_t>> splits;
  splits.push_back(layers % stages == 0 ? std::vector<int64_t>(static_cast<size_t>(stages), layers / stages)
                                        : BalancedStages(layers, mtp, stages));
  if (pp == 1) return splits;
  for (double times : kTails) {
    const auto worth = static_cast<int64_t>(std::lround(std::min(tail * times, static_cast<double>(layers))));
    if (worth <= 0) continue;
    std::vector<int64_t> split = SplitWithTail(layers, pp, vpp, worth);
    if (split.empty() || std::find(splits.begin(), splits.end(), split) != splits.end()) continue;
    splits.push_back(std::move(split));
  }
  return splits;
}

std::string LayoutText(const std::vector<int64_t>& decoder_layers, int64_t mtp) {
  std::string text = "E";
  for (size_t i = 0; i < decoder_layers.size(); ++i) {
    if (i > 0) text.push_back('|');
    text.append(static_cast<size_t>(decoder_layers[i]), 't');
  }
  text.append(static_cast<size_t>(mtp), 'm');
  text.push_back('L');
  return text;
}

}  // namespace flightplan
