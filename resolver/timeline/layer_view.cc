#include "resolver/timeline/layer_view.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace flightplan {
namespace {

using K = TimelineKind;
using S = TimelineStream;

constexpr double kNothingUs = 1e-6;
// Units of a pass that are drawn one by one. Of more, neighbours that are alike are one.
constexpr size_t kMaxUnits = 24;

bool IsForward(PairNode node) {
  switch (node) {
    case PairNode::kPreFwd:
    case PairNode::kMlpFwd:
    case PairNode::kDispatchFwd:
    case PairNode::kCombineFwd:
      return true;
    case PairNode::kPreBwd:
    case PairNode::kPreWgrad:
    case PairNode::kMlpBwd:
    case PairNode::kMlpWgrad:
    case PairNode::kDispatchBwd:
    case PairNode::kCombineBwd:
      return false;
  }
  return false;
}

bool IsExchange(PairNode node) {
  return node == PairNode::kDispatchFwd || node == PairNode::kCombineFwd || node == PairNode::kDispatchBwd ||
         node == PairNode::kCombineBwd;
}

// Microseconds of [start, end) in which none of the compute stretches runs.
double Uncovered(const PairStretch& exchange, const std::vector<PairStretch>& stretches) {
  double covered = 0;
  for (const PairStretch& other : stretches) {
    if (IsExchange(other.node)) continue;
    const double from = std::max(exchange.start_us, other.start_us);
    const double to = std::min(exchange.start_us + exchange.us, other.start_us + other.us);
    covered += std::max(0.0, to - from);
  }
  return std::max(0.0, exchange.us - covered);
}

}  // namespace

std::vector<ChunkUnit> UnitsOf(const ModelShape& shape, const StepDetail& detail, const ChunkContents& chunk,
                               int64_t layer) {
  std::vector<ChunkUnit> units;
  for (int i = 0; i < chunk.Layers(); ++i, ++layer) {
    const auto at = static_cast<size_t>(layer);
    if (at >= shape.layer_kinds.size()) break;
    units.push_back({&detail.kinds[shape.layer_kinds[at]], absl::StrCat("layer ", layer), layer});
  }
  for (int depth = 0; depth < chunk.mtp_depths; ++depth) {
    units.push_back({&detail.mtp_projection, "MTP projection"});
    for (size_t kind = 0; kind < detail.kinds.size(); ++kind) {
      for (int i = 0; i < shape.mtp_layers[kind]; ++i) units.push_back({&detail.kinds[kind], "MTP layer"});
    }
  }
  if (chunk.loss) {
    for (int64_t depth = 0; depth < shape.mtp_depths; ++depth) units.push_back({&detail.head, "MTP output layer"});
    units.push_back({&detail.head, "output layer"});
  }
  if (units.size() <= kMaxUnits) return units;
  std::vector<ChunkUnit> joined;
  for (ChunkUnit& unit : units) {
    if (joined.empty() || joined.back().parts != unit.parts) {
      joined.push_back(std::move(unit));
      continue;
    }
    ChunkUnit& last = joined.back();
    ++last.repeat;
    if (last.layer >= 0) last.name = absl::StrCat("layers ", last.layer, "..", last.layer + last.repeat - 1);
  }
  return joined;
}

LayerDrawing::LayerDrawing(const StepDetail& detail, const RankCosts& costs, int rank, bool operators)
    : detail_(detail), costs_(costs), rank_(rank), operators_(operators) {}

void LayerDrawing::AddCompute(const char* module, const Load& load, K kind, std::vector<Piece>* pieces) const {
  if (!operators_ || load.attention <= 0) {
    pieces->push_back({module, kind, S::kCompute, load.gpu()});
    return;
  }
  pieces->push_back({"attention products", kind, S::kCompute, load.matmul});
  pieces->push_back({"core attention", kind, S::kCompute, load.attention});
  pieces->push_back({"norms, rotary, gaps", kind, S::kCompute, load.memory});
}

void LayerDrawing::AddTransfers(const Load& load, std::vector<Piece>* pieces) {
  pieces->push_back({"context parallel", K::kContextParallel, S::kModel, load.context, load.hidden_context});
  pieces->push_back(
      {"tensor parallel", K::kTensorParallel, S::kModel, load.transfer - load.context, load.hidden_tensor});
}

std::vector<LayerDrawing::Piece> LayerDrawing::ForwardPieces(const LayerParts& p) const {
  std::vector<Piece> pieces;
  AddCompute("attention", p.attention.fwd, K::kForward, &pieces);
  AddTransfers(p.attention.fwd, &pieces);
  AddCompute("MLP", p.dense.fwd, K::kForward, &pieces);
  AddTransfers(p.dense.fwd, &pieces);
  // The exchange that the shared experts hide: half of it beside their first product, half beside their second.
  const double beside = 0.5 * p.time.shared_hidden;
  AddCompute("router", p.router.fwd, K::kForward, &pieces);
  AddTransfers(p.router.fwd, &pieces);
  pieces.push_back({"permute", K::kForward, S::kCompute, p.permute_before});
  pieces.push_back({"shared experts", K::kForward, S::kCompute, p.shared.fwd.gpu() - beside});
  AddTransfers(p.shared.fwd, &pieces);
  pieces.push_back({"dispatch", K::kDispatch, S::kExpert, p.dispatch - beside, beside});
  AddCompute("experts", p.experts.fwd, K::kForward, &pieces);
  pieces.push_back({"permute", K::kForward, S::kCompute, p.permute_inside});
  pieces.push_back({"shared experts", K::kForward, S::kCompute, beside});
  pieces.push_back({"combine", K::kCombine, S::kExpert, p.combine - beside, beside});
  pieces.push_back({"unpermute", K::kForward, S::kCompute, p.permute_after});
  return pieces;
}

std::vector<LayerDrawing::Piece> LayerDrawing::BackwardPieces(const LayerParts& p) const {
  std::vector<Piece> pieces;
  const auto wgrad = [&](const char* name, const Module& module) {
    pieces.push_back({name, K::kWeightGradient, S::kCompute, module.wgrad.gpu()});
  };
  pieces.push_back({"recompute", K::kRecompute, S::kCompute, p.time.again.gpu()});
  AddTransfers(p.time.again, &pieces);
  pieces.push_back({"recomputed exchange", K::kDispatch, S::kExpert, p.time.again_exchange});
  pieces.push_back({"unpermute", K::kBackward, S::kCompute, p.permute_after});
  pieces.push_back({"combine", K::kCombine, S::kExpert, p.combine});
  pieces.push_back({"permute", K::kBackward, S::kCompute, p.permute_inside});
  AddCompute("experts", p.experts.bwd, K::kBackward, &pieces);
  wgrad("experts wgrad", p.experts);
  pieces.push_back({"dispatch", K::kDispatch, S::kExpert, p.dispatch});
  pieces.push_back({"permute", K::kBackward, S::kCompute, p.permute_before});
  AddCompute("shared experts", p.shared.bwd, K::kBackward, &pieces);
  AddTransfers(p.shared.bwd, &pieces);
  wgrad("shared experts wgrad", p.shared);
  AddCompute("router", p.router.bwd, K::kBackward, &pieces);
  AddTransfers(p.router.bwd, &pieces);
  wgrad("router wgrad", p.router);
  AddCompute("MLP", p.dense.bwd, K::kBackward, &pieces);
  AddTransfers(p.dense.bwd, &pieces);
  wgrad("wgrad", p.dense);
  AddCompute("attention", p.attention.bwd, K::kBackward, &pieces);
  AddTransfers(p.attention.bwd, &pieces);
  wgrad("attention wgrad", p.attention);
  return pieces;
}

// What a node of the combined schedule runs; only the lengths' ratios count.
std::vector<LayerDrawing::Piece> LayerDrawing::NodePieces(PairNode node, const LayerParts& p) const {
  std::vector<Piece> pieces;
  switch (node) {
    case PairNode::kPreFwd:
      AddCompute("attention", p.attention.fwd, K::kForward, &pieces);
      AddTransfers(p.attention.fwd, &pieces);
      pieces.push_back({"shared experts", K::kForward, S::kCompute, p.shared.fwd.gpu()});
      AddTransfers(p.shared.fwd, &pieces);
      pieces.push_back({"router", K::kForward, S::kCompute, p.router.fwd.gpu() + p.permute_before});
      break;
    case PairNode::kPreBwd:
      pieces.push_back({"recompute", K::kRecompute, S::kCompute, p.time.again.gpu()});
      pieces.push_back({"router", K::kBackward, S::kCompute, p.router.bwd.gpu() + p.permute_before});
      pieces.push_back({"shared experts", K::kBackward, S::kCompute, p.shared.bwd.gpu()});
      AddTransfers(p.shared.bwd, &pieces);
      AddCompute("attention", p.attention.bwd, K::kBackward, &pieces);
      AddTransfers(p.attention.bwd, &pieces);
      break;
    case PairNode::kPreWgrad:
      pieces.push_back({"attention wgrad", K::kWeightGradient, S::kCompute, 1});
      break;
    case PairNode::kMlpFwd:
      pieces.push_back({"experts", K::kForward, S::kCompute, 1});
      break;
    case PairNode::kMlpBwd:
      pieces.push_back({"experts", K::kBackward, S::kCompute, 1});
      break;
    case PairNode::kMlpWgrad:
      pieces.push_back({"experts wgrad", K::kWeightGradient, S::kCompute, 1});
      break;
    case PairNode::kDispatchFwd:
    case PairNode::kDispatchBwd:
      pieces.push_back({"dispatch", K::kDispatch, S::kExpert, 1});
      break;
    case PairNode::kCombineFwd:
    case PairNode::kCombineBwd:
      pieces.push_back({"combine", K::kCombine, S::kExpert, 1});
      break;
  }
  return pieces;
}

TimelineEvent& LayerDrawing::Put(K kind, S stream, double start_us, double us, double exposed_us, const char* name) {
  TimelineEvent event{kind, stream, rank_, start_us, us, exposed_us, name};
  if (us <= kNothingUs) return dropped_ = std::move(event);
  free_[static_cast<size_t>(stream)] = start_us + us;
  events_.push_back(std::move(event));
  return events_.back();
}

void LayerDrawing::DrawWaits(const PassCost& cost, double scale, bool backward, int64_t layer) {
  for (const auto& [kind, stream, name] :
       {std::tuple{K::kHost, S::kHost, "host"}, std::tuple{K::kActivationOffload, S::kHost, "offload"}}) {
    const double us = scale * cost.exposed[At(kind)];
    TimelineEvent& event = Put(kind, stream, now_, us, us, name);
    event.backward = backward;
    event.layer = layer;
    now_ += us;
  }
}

void LayerDrawing::DrawRow(const ChunkUnit& unit, const std::vector<Piece>& pieces, const PassCost& cost, double us,
                           bool backward) {
  const double whole = cost.us(), scale = whole > 0 ? us / whole : 0;
  if (unit.repeat > 1) {
    const double all = us * static_cast<double>(unit.repeat);
    TimelineEvent& event = Put(backward ? K::kBackward : K::kForward, S::kCompute, now_, all, all, unit.name.c_str());
    event.backward = backward;
    event.layer = unit.layer;
    event.repeat = unit.repeat;
    now_ += all;
    return;
  }
  const bool own_name = unit.parts == &detail_.head || unit.parts == &detail_.mtp_projection;
  for (const Piece& piece : pieces) {
    const double length = piece.us * detail_.stretch * scale;
    if (piece.stream == S::kCompute) {
      // An output layer and a projection have one module, whose name is theirs.
      const char* const name = own_name && piece.kind != K::kWeightGradient ? unit.name.c_str() : piece.name;
      TimelineEvent& event = Put(piece.kind, piece.stream, now_, length, length, name);
      event.backward = backward, event.layer = unit.layer;
    } else {
      // It begins beside what came before, as far as its stream is free.
      const double start = std::max({0.0, free_[static_cast<size_t>(piece.stream)], now_ - piece.hidden});
      TimelineEvent& event = Put(piece.kind, piece.stream, start, length + piece.hidden, length, piece.name);
      event.backward = backward, event.layer = unit.layer;
    }
    now_ += length;
  }
  DrawWaits(cost, scale, backward, unit.layer);
}

void LayerDrawing::DrawForward(const ChunkUnit& unit) {
  const PassCost cost = costs_.Forward(unit.parts->time);
  DrawRow(unit, ForwardPieces(*unit.parts), cost, cost.us(), /*backward=*/false);
}

void LayerDrawing::DrawBackward(const ChunkUnit& unit) {
  const PassCost cost = costs_.Backward(unit.parts->time);
  DrawRow(unit, BackwardPieces(*unit.parts), cost, cost.us(), /*backward=*/true);
}

void LayerDrawing::DrawPair(const ChunkUnit* forward, const ChunkUnit* backward, const PairRules& rules) {
  if (forward != nullptr && backward != nullptr && forward->parts == backward->parts && forward->parts->paired &&
      forward->repeat == 1 && backward->repeat == 1) {
    return DrawWalk(*forward, *backward, rules);
  }
  if (backward != nullptr) {
    const PassCost alone = costs_.Backward(backward->parts->time);
    DrawRow(*backward, BackwardPieces(*backward->parts), alone, costs_.HalfPair(backward->parts->time, true).us(),
            true);
  }
  if (forward != nullptr) {
    const PassCost alone = costs_.Forward(forward->parts->time);
    DrawRow(*forward, ForwardPieces(*forward->parts), alone, costs_.HalfPair(forward->parts->time, false).us(), false);
  }
}

void LayerDrawing::DrawWalk(const ChunkUnit& forward, const ChunkUnit& backward, const PairRules& rules) {
  const LayerParts& parts = *forward.parts;
  std::vector<PairStretch> stretches;
  const PairTime pair = WalkPair(parts.nodes, parts.slow, rules.delay_wgrad, rules.early_attention_release, &stretches);
  // Of a stack whose layers differ in precision the forecast has the mean.
  const double scale = pair.us > 0 ? detail_.stretch * parts.time.pair / pair.us : 0;
  const double begin = now_;
  for (const PairStretch& stretch : stretches) {
    const bool is_backward = !IsForward(stretch.node);
    const std::vector<Piece> pieces = NodePieces(stretch.node, parts);
    double sum = 0;
    for (const Piece& piece : pieces) sum += piece.us;
    double at = begin + scale * stretch.start_us;
    for (const Piece& piece : pieces) {
      const double us = sum > 0 ? scale * stretch.us * piece.us / sum : 0;
      const double exposed = IsExchange(stretch.node) ? scale * Uncovered(stretch, stretches) : us;
      TimelineEvent& event = Put(piece.kind, piece.stream, at, us, exposed, piece.name);
      event.backward = is_backward;
      event.layer = is_backward ? backward.layer : forward.layer;
      at += us;
    }
  }
  now_ = begin + scale * pair.us;
  const PassCost ahead = costs_.HalfPair(parts.time, false), behind = costs_.HalfPair(parts.time, true);
  // Transfers of what is recomputed stand in no node of the schedule.
  const double rest = ahead.us() + behind.us() - (now_ - begin) - ahead.exposed[At(K::kHost)] -
                      behind.exposed[At(K::kHost)] - ahead.exposed[At(K::kActivationOffload)] -
                      behind.exposed[At(K::kActivationOffload)];
  if (rest > kNothingUs) {
    Put(K::kTensorParallel, S::kModel, now_, rest, rest, "recomputed transfers").backward = true;
    now_ += rest;
  }
  DrawWaits(ahead, 1, false, forward.layer);
  DrawWaits(behind, 1, true, backward.layer);
}

void LayerDrawing::DrawBehind(const PassCost& every_pass, const PipelineHop& hop, const Directions& passes) {
  for (K kind : {K::kParameterGather, K::kGradientReduce}) {
    const double us = every_pass.exposed[At(kind)], hidden = every_pass.hidden[At(kind)];
    const double start = std::max({0.0, free_[static_cast<size_t>(S::kData)], now_ - hidden});
    const char* const name = kind == K::kParameterGather ? "weights gathered" : "gradients reduced";
    Put(kind, S::kData, start, us + hidden, us, name).backward = passes.backward;
    now_ += us;
  }
  const double start = now_;
  if (passes.forward) {
    Put(K::kPipelineTransfer, S::kPipeline, start, hop.us, hop.us * hop.exposed, "activations");
    now_ += hop.us * hop.exposed;
  }
  if (passes.backward) {
    Put(K::kPipelineTransfer, S::kPipelineBackward, start, hop.us, hop.us * hop.exposed, "gradients").backward = true;
    now_ += hop.us * hop.exposed;
  }
}

TimelineView LayerDrawing::Take(TimelineZoom zoom, std::string title) && {
  TimelineView view;
  view.zoom = zoom;
  view.title = std::move(title);
  view.events = std::move(events_);
  view.us = now_;
  for (const TimelineEvent& event : view.events) view.us = std::max(view.us, event.start_us + event.us);
  return view;
}

int RankOfLayer(const StageLayout& stages, int64_t layer) {
  for (size_t i = 0; i < stages.chunks.size(); ++i) {
    layer -= stages.chunks[i].Layers();
    if (layer < 0) return static_cast<int>(i % static_cast<size_t>(stages.pp));
  }
  return -1;
}

}  // namespace flightplan
