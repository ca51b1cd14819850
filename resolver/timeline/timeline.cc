#include "resolver/timeline/timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/work.h"
#include "resolver/derive/schedule.h"
#include "resolver/timeline/fit_waits.h"
#include "resolver/timeline/layer_view.h"
#include "resolver/timeline/pass_cost.h"
#include "resolver/timeline/replay.h"
#include "resolver/timeline/step_view.h"

namespace flightplan {
namespace {

using K = TimelineKind;

// The schedule, its costs and its replay.
struct Drawn {
  Schedule schedule;
  bool combined = false;
  std::vector<std::vector<PieceTime>> chunks;  // by rank, then chunk
  std::vector<RankCosts> ranks;
  CostTable costs;
  Replay replay;
  std::vector<OnceTimes> once;
};

absl::Status ReadSchedule(const Candidate& plan, const StepDetail& detail, Drawn* drawn) {
  const double microbatches = std::floor(detail.microbatches + 1e-9);
  Schedule& s = drawn->schedule;
  s.pp = plan.stages->pp;
  // Without a pipeline the chunks of the one rank run in a row.
  s.vpp = s.pp > 1 ? plan.stages->vpp : 1;
  const double passes = 2 * microbatches * s.pp * s.vpp;
  if (!(microbatches >= 1)) return absl::FailedPreconditionError("the step has less than one microbatch");
  if (passes > static_cast<double>(kMaxTimelinePasses)) {
    return absl::FailedPreconditionError(
        absl::StrFormat("a step of %.0f passes; at most %d are drawn: PP %d x VPP %d x %.0f microbatches", passes,
                        kMaxTimelinePasses, s.pp, s.vpp, microbatches));
  }
  s.microbatches = static_cast<int64_t>(microbatches);
  s.group = s.vpp > 1 && plan.microbatch_group > 0 ? plan.microbatch_group : s.pp;
  s.extra_forward = drawn->combined = plan.ep_overlap;
  return absl::OkStatus();
}

void FillCosts(const Candidate& plan, const StepDetail& detail, Drawn* drawn) {
  const Schedule& s = drawn->schedule;
  for (int rank = 0; rank < s.pp; ++rank) {
    std::vector<PieceTime>& own = drawn->chunks.emplace_back();
    if (s.pp == 1) {
      PieceTime& whole = own.emplace_back();
      static_cast<LayerTime&>(whole) = detail.ranks.front().time;
      for (const PieceTime& chunk : detail.chunks) whole.weight_gradient += chunk.weight_gradient;
    } else {
      for (int chunk = 0; chunk < s.vpp; ++chunk)
        own.push_back(
            detail.chunks[static_cast<size_t>(chunk) * static_cast<size_t>(s.pp) + static_cast<size_t>(rank)]);
    }
    const RankCosts& costs = drawn->ranks.emplace_back(detail, rank, plan.ep_overlap, own);
    const PassCost forward = costs.EveryPass(false, s.vpp), backward = costs.EveryPass(true, s.vpp);
    std::vector<ChunkCosts>& row = drawn->costs.emplace_back();
    for (const PieceTime& chunk : own) {
      row.push_back({costs.Forward(chunk) + forward, costs.Backward(chunk) + backward,
                     costs.HalfPair(chunk, false) + forward, costs.HalfPair(chunk, true) + backward});
    }
  }
}

std::vector<std::vector<PassLengths>> LengthsOf(const CostTable& costs) {
  std::vector<std::vector<PassLengths>> lengths;
  for (const std::vector<ChunkCosts>& row : costs) {
    std::vector<PassLengths>& own = lengths.emplace_back();
    for (const ChunkCosts& c : row) {
      own.push_back({c.forward.us(), c.backward.us(), c.half_forward.us(), c.half_backward.us()});
    }
  }
  return lengths;
}

void FillOnce(const Candidate& plan, const StepDetail& detail, Drawn* drawn) {
  for (const RankDetail& rank : detail.ranks) {
    OnceTimes& once = drawn->once.emplace_back();
    const DataParallelTimes& dp = rank.once.data_parallel;
    once.optimizer_us = rank.once.optimizer - rank.once.fixed;
    once.fixed_us = rank.once.fixed;
    if (!dp.reduces_every_pass) {
      once.reduce_us = dp.reduce_exposed;
      once.reduce_hidden_us = dp.reduce_hidden;
    }
    if (dp.gathers_every_pass) continue;
    if (plan.overlap_param_gather) {
      once.gather_first_us = dp.gather_exposed;
      once.gather_first_hidden_us = dp.gather_hidden;
    } else {
      once.gather_last_us = dp.gather_exposed;
    }
  }
}

// Returns when the step ends. The norm of the gradients is known to all ranks at once; the optimizer waits for it.
double EndStep(const Replay& replay, std::vector<OnceTimes>* once) {
  double reduced_us = 0, end_us = 0;
  for (size_t rank = 0; rank < once->size(); ++rank) {
    reduced_us = std::max(reduced_us, replay.end_us[rank] + (*once)[rank].reduce_us);
  }
  for (OnceTimes& o : *once) {
    o.optimizer_start_us = reduced_us;
    end_us = std::max(end_us, reduced_us + o.optimizer_us + o.fixed_us + o.gather_last_us);
  }
  return end_us;
}

// The forecast's own walls, by kind; they add up to its step.
void FillForecast(const StepDetail& detail, const Drawn& drawn, Timeline* timeline) {
  const auto slowest = static_cast<size_t>(timeline->slowest);
  const RankDetail& rank = detail.ranks[slowest];
  const StepParts& parts = detail.forecast.parts;
  const DataParallelTimes& dp = rank.once.data_parallel;
  double weight_gradient = 0;
  for (const PieceTime& chunk : drawn.chunks[slowest]) weight_gradient += chunk.weight_gradient;
  KindTimes& f = timeline->forecast;
  f[At(K::kForward)] = detail.microbatches * rank.time.fwd.gpu() * detail.stretch;
  f[At(K::kWeightGradient)] = detail.microbatches * weight_gradient * detail.stretch;
  f[At(K::kActivationOffload)] = rank.offload * detail.stretch;
  f[At(K::kBackward)] = parts.matmul + parts.attention + parts.memory_bound - f[At(K::kForward)] -
                        f[At(K::kWeightGradient)] - f[At(K::kActivationOffload)];
  f[At(K::kRecompute)] = parts.recompute;
  f[At(K::kExpertExchange)] = parts.expert_exchange;
  f[At(K::kTensorParallel)] = parts.tensor_parallel;
  f[At(K::kContextParallel)] = parts.context_parallel;
  f[At(K::kPipelineTransfer)] = parts.pipeline_transfer;
  f[At(K::kGradientReduce)] = dp.reduce_exposed;
  f[At(K::kParameterGather)] = parts.data_parallel - dp.reduce_exposed;
  f[At(K::kOptimizer)] = parts.optimizer - rank.once.fixed;
  f[At(K::kStepFixed)] = rank.once.fixed;
  f[At(K::kHost)] = parts.host;
  f[At(K::kBubble)] = parts.bubble;
}

void DescribeRanks(const StageLayout& stages, const Schedule& schedule, Timeline* timeline) {
  for (int rank = 0; rank < stages.pp; ++rank) {
    TimelineRank& own = timeline->ranks.emplace_back();
    own.warm_up = WarmUpPasses(schedule, rank);
    for (int chunk = 0; chunk < stages.vpp; ++chunk) {
      const ChunkContents& contents = stages.chunk(rank, chunk);
      own.layers.push_back(contents.Layers());
      own.embedding |= contents.embedding;
      own.loss |= contents.loss;
    }
  }
}

// What was done so that the drawing ends with the forecast's step.
void WriteFit(double shortened, Timeline* timeline) {
  constexpr double kWorthSaying = 1e-4;  // of a step
  const double rest = timeline->step_us - timeline->replayed_us;
  if (std::abs(rest) <= kWorthSaying * timeline->step_us) return;
  std::string note = absl::StrFormat(
      "Waits are drawn as long as the forecast counts them, by closed formulas for the bubble. The same passes, each "
      "begun as soon as what it needs has come, end %.1f ms (%.2f %% of the step) %s.",
      std::abs(rest) / 1e3, 100 * std::abs(rest) / timeline->step_us, rest > 0 ? "earlier" : "later");
  if (shortened > kWorthSaying) {
    absl::StrAppendFormat(&note, " Passes of a rank that never waits are drawn up to %.2f %% shorter.",
                          100 * shortened);
  }
  timeline->notes.push_back(std::move(note));
}

void WriteNotes(const Candidate& plan, const StepDetail& detail, const Drawn& drawn, Timeline* timeline) {
  std::vector<std::string>& notes = timeline->notes;
  if (drawn.combined) {
    int64_t alone = 0;
    for (const PipelinePass& pass : drawn.replay.ranks[static_cast<size_t>(timeline->slowest)])
      alone += pass.combined() ? 0 : 1;
    notes.push_back(absl::StrCat("On rank ", timeline->slowest, " ", alone, " of ",
                                 2 * drawn.schedule.microbatches * drawn.schedule.vpp,
                                 " passes run alone, in warm-up and cool-down; the others share their time."));
  }
  if (drawn.schedule.pp > 1)
    notes.emplace_back("One transfer between stages is counted with every pass, as the forecast does.");
  if (std::abs(detail.microbatches - static_cast<double>(drawn.schedule.microbatches)) > 1e-6) {
    notes.push_back(absl::StrFormat("The batch comes to %.3f microbatches; %d are drawn.", detail.microbatches,
                                    drawn.schedule.microbatches));
  }
  if (plan.bf16_layers > 0 && plan.low_precision()) {
    notes.emplace_back("Layers that stay in bf16 are spread over all: each is drawn as the mean.");
  }
  const DataParallelTimes& dp = detail.ranks.front().once.data_parallel;
  if (dp.gathers_every_pass) {
    notes.emplace_back("Sharded weights are gathered and gradients reduced with every pass.");
  } else if (dp.reduces_every_pass) {
    notes.emplace_back("Sharded gradients are reduced with every backward pass.");
  }
}

// A forward pass and a backward pass in the middle of a rank's order: of a combined schedule one pass.
struct SteadyPair {
  const PipelinePass *forward = nullptr, *backward = nullptr;
};

SteadyPair MiddleOf(const std::vector<PipelinePass>& passes) {
  SteadyPair pair;
  const size_t middle = passes.size() / 2;
  for (size_t i = middle; i < passes.size() && !passes[i].combined(); ++i) {
    if (!passes[i].forward()) continue;
    for (size_t j = i + 1; j < passes.size() && pair.backward == nullptr; ++j) {
      if (passes[j].backward()) pair = {&passes[i], &passes[j]};
    }
    break;
  }
  if (passes[middle].combined()) return {&passes[middle], &passes[middle]};
  if (pair.forward != nullptr) return pair;
  // The middle lies behind the last forward.
  for (const PipelinePass& pass : passes) {
    if (pass.forward()) pair.forward = &pass;
    if (pass.backward() && pair.backward == nullptr) pair.backward = &pass;
  }
  return pair;
}

int64_t FirstLayer(const StageLayout& stages, int rank, int chunk) {
  int64_t layer = 0;
  for (size_t i = 0; i < static_cast<size_t>(chunk) * static_cast<size_t>(stages.pp) + static_cast<size_t>(rank); ++i)
    layer += stages.chunks[i].Layers();
  return layer;
}

std::vector<ChunkUnit> UnitsOfChunk(const ModelShape& shape, const Candidate& plan, const StepDetail& detail, int rank,
                                    int chunk) {
  const StageLayout& stages = *plan.stages;
  if (stages.pp > 1) return UnitsOf(shape, detail, stages.chunk(rank, chunk), FirstLayer(stages, rank, chunk));
  ChunkContents whole;
  for (const ChunkContents& one : stages.chunks) {
    for (size_t i = 0; i < whole.layers.size(); ++i)
      whole.layers[i] = static_cast<uint16_t>(whole.layers[i] + one.layers[i]);
    whole.mtp_depths = static_cast<uint8_t>(whole.mtp_depths + one.mtp_depths);
    whole.loss |= one.loss;
  }
  return UnitsOf(shape, detail, whole, 0);
}

TimelineView ViewSteady(const ModelShape& shape, const Candidate& plan, const StepDetail& detail, const Drawn& drawn,
                        int rank, const Timeline& timeline) {
  const auto at = static_cast<size_t>(rank);
  const RankCosts& costs = drawn.ranks[at];
  const SteadyPair pair = MiddleOf(drawn.replay.ranks[at]);
  const PipelinePass &f = *pair.forward, &b = *pair.backward;
  const std::vector<ChunkUnit> forward = UnitsOfChunk(shape, plan, detail, rank, f.forward_chunk);
  const std::vector<ChunkUnit> backward = UnitsOfChunk(shape, plan, detail, rank, b.backward_chunk);
  LayerDrawing drawing(detail, costs, rank, /*operators=*/false);
  const PassCost with_forward = costs.EveryPass(false, drawn.schedule.vpp);
  const PassCost with_backward = costs.EveryPass(true, drawn.schedule.vpp);
  const PipelineHop hop{detail.hop_us, 1 - detail.hop_hidden};
  if (f.combined()) {
    const PairRules rules{plan.delay_wgrad, plan.early_attn_release};
    for (size_t i = 0; i < std::max(forward.size(), backward.size()); ++i) {
      drawing.DrawPair(i < forward.size() ? &forward[i] : nullptr,
                       i < backward.size() ? &backward[backward.size() - 1 - i] : nullptr, rules);
    }
    drawing.DrawBehind(with_forward + with_backward, hop, {true, true});
  } else {
    for (const ChunkUnit& unit : forward) drawing.DrawForward(unit);
    drawing.DrawBehind(with_forward, hop, {true, false});
    for (size_t i = backward.size(); i-- > 0;) drawing.DrawBackward(backward[i]);
    drawing.DrawBehind(with_backward, hop, {false, true});
  }
  const std::string name = f.combined() ? NameOf(f, timeline.vpp)
                                        : absl::StrCat(NameOf(f, timeline.vpp), ", then ", NameOf(b, timeline.vpp));
  return std::move(drawing).Take(TimelineZoom::kSteady,
                                 absl::StrCat("steady state of rank ", rank, ": ", name,
                                              timeline.vpp > 1 ? " (microbatch.chunk)" : " (microbatch)"));
}

// The layer that is asked for; or of the rank's chunks the first of the kind that takes longest. -1: the rank has none.
int64_t LayerOf(const ModelShape& shape, const StageLayout& stages, const StepDetail& detail, int rank, int64_t asked) {
  if (asked >= 0) return asked;
  int64_t heaviest = -1;
  double most = -1;
  for (int chunk = 0; chunk < stages.vpp; ++chunk) {
    const int64_t first = FirstLayer(stages, rank, chunk);
    for (int64_t layer = first; layer < first + stages.chunk(rank, chunk).Layers(); ++layer) {
      if (static_cast<size_t>(layer) >= shape.layer_kinds.size()) break;
      const double us = detail.kinds[shape.layer_kinds[static_cast<size_t>(layer)]].time.pair;
      if (us > most) most = us, heaviest = layer;
    }
  }
  return heaviest;
}

TimelineView ViewLayer(const ModelShape& shape, const Candidate& plan, const StepDetail& detail, const Drawn& drawn,
                       int rank, int64_t layer) {
  LayerDrawing drawing(detail, drawn.ranks[static_cast<size_t>(rank)], rank, /*operators=*/true);
  ChunkUnit unit{&detail.head, "output layer"};
  if (layer >= 0)
    unit = {&detail.kinds[shape.layer_kinds[static_cast<size_t>(layer)]], absl::StrCat("layer ", layer), layer};
  std::string how = ": forward, then backward";
  if (drawn.combined && unit.parts->paired) {
    drawing.DrawPair(&unit, &unit, {plan.delay_wgrad, plan.early_attn_release});
    how = ": forward of one microbatch beside backward of another";
  } else {
    drawing.DrawForward(unit);
    drawing.DrawBackward(unit);
  }
  return std::move(drawing).Take(TimelineZoom::kLayer, absl::StrCat(unit.name, " on rank ", rank, how));
}

absl::Status CheckAsked(const ModelShape& shape, const TimelineAsked& asked, const StageLayout& stages) {
  const int pp = stages.pp;
  for (int rank : asked.ranks) {
    if (rank < 0 || rank >= pp)
      return absl::InvalidArgumentError(absl::StrCat("pipeline_ranks: ", rank, " is none of 0..", pp - 1));
  }
  if (asked.detail_rank >= pp)
    return absl::InvalidArgumentError(
        absl::StrCat("detail_pipeline_rank: ", asked.detail_rank, " is none of 0..", pp - 1));
  const auto layers = static_cast<int64_t>(shape.layer_kinds.size());
  if (asked.layer >= layers)
    return absl::InvalidArgumentError(absl::StrCat("layer_index: ", asked.layer, " is none of 0..", layers - 1));
  if (asked.layer < 0 || asked.detail_rank < 0) return absl::OkStatus();
  if (const int holds = RankOfLayer(stages, asked.layer); holds >= 0 && holds != asked.detail_rank) {
    return absl::InvalidArgumentError(absl::StrCat("layer_index: ", asked.layer, " is on pipeline rank ", holds,
                                                   ", and detail_pipeline_rank is ", asked.detail_rank,
                                                   ": leave the rank out"));
  }
  return absl::OkStatus();
}

bool Wants(const TimelineAsked& asked, TimelineZoom zoom) {
  return asked.zooms.empty() || std::find(asked.zooms.begin(), asked.zooms.end(), zoom) != asked.zooms.end();
}

void SortEvents(TimelineView* view) {
  std::stable_sort(view->events.begin(), view->events.end(), [](const TimelineEvent& a, const TimelineEvent& b) {
    return std::tie(a.rank, a.stream, a.start_us) < std::tie(b.rank, b.stream, b.start_us);
  });
}

}  // namespace

absl::StatusOr<Timeline> DrawStep(const ModelShape& shape, const ModelWork& work, const Candidate& plan,
                                  const GpuRates& rates, const TimelineAsked& asked) {
  FLIGHTPLAN_RETURN_IF_ERROR(CheckAsked(shape, asked, *plan.stages));
  StepDetail detail;
  if (!DetailStep(work, plan, rates, &detail)) return absl::FailedPreconditionError("the step cannot be forecast");
  Drawn drawn;
  FLIGHTPLAN_RETURN_IF_ERROR(ReadSchedule(plan, detail, &drawn));
  const Schedule& s = drawn.schedule;
  FillCosts(plan, detail, &drawn);
  FillOnce(plan, detail, &drawn);
  std::vector<double> begin_us;
  for (const OnceTimes& once : drawn.once) begin_us.push_back(once.gather_first_us);
  const PipelineHop hop{detail.hop_us, 1 - detail.hop_hidden};
  FLIGHTPLAN_ASSIGN_OR_RETURN(drawn.replay, ReplayPasses(s, drawn.combined, LengthsOf(drawn.costs), hop, begin_us));
  Timeline timeline;
  timeline.step_us = timeline.scheduled_us = detail.forecast.us;
  timeline.replayed_us = EndStep(drawn.replay, &drawn.once);
  const double shortened = FitWaits(timeline.step_us, hop, &drawn.replay, &drawn.costs, &drawn.once);
  timeline.stack_overhead = detail.stretch;
  timeline.schedule = s.pp == 1    ? TimelineSchedule::kNoPipelining
                      : s.vpp == 1 ? TimelineSchedule::kOneForwardOneBackward
                                   : TimelineSchedule::kInterleaved;
  timeline.combined = drawn.combined;
  timeline.delayed_weight_gradients = drawn.combined && plan.delay_wgrad;
  timeline.pp = s.pp, timeline.vpp = s.vpp;
  timeline.microbatches = s.microbatches, timeline.group = s.group;
  timeline.slowest = detail.slowest;
  DescribeRanks(*plan.stages, s, &timeline);
  SumStep(detail, drawn.replay, drawn.costs, drawn.once, &timeline);
  FillForecast(detail, drawn, &timeline);
  WriteFit(shortened, &timeline);
  WriteNotes(plan, detail, drawn, &timeline);
  const int of_layer = asked.layer >= 0 ? RankOfLayer(*plan.stages, asked.layer) : -1;
  const int rank = asked.detail_rank >= 0 ? asked.detail_rank : of_layer >= 0 ? of_layer : timeline.slowest;
  if (Wants(asked, TimelineZoom::kStep)) {
    timeline.views.push_back(ViewStep(detail, drawn.replay, drawn.costs, drawn.once, asked, &timeline));
  }
  if (Wants(asked, TimelineZoom::kSteady)) {
    timeline.views.push_back(ViewSteady(shape, plan, detail, drawn, rank, timeline));
  }
  if (Wants(asked, TimelineZoom::kLayer)) {
    const int64_t layer = LayerOf(shape, *plan.stages, detail, rank, asked.layer);
    timeline.views.push_back(ViewLayer(shape, plan, detail, drawn, rank, layer));
  }
  for (TimelineView& view : timeline.views) SortEvents(&view);
  if (Work::Spent()) return absl::CancelledError("the timeline was ended before its end");
  return timeline;
}

}  // namespace flightplan
