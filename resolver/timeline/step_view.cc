#include "resolver/timeline/step_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/base/work.h"

namespace flightplan {
namespace {

using K = TimelineKind;
using S = TimelineStream;

constexpr int64_t kLeastEventsPerRank = 20;
constexpr int64_t kOnceEvents = 8;     // of a rank: what is done once a step, and its waits
constexpr int64_t kEventsPerPass = 4;  // its wait, itself, its transfers
// What rounding leaves of nothing.
constexpr double kNothingUs = 1e-6;
constexpr double kRounding = 1e-10;  // of a sum as long as a step

void Add(const KindTimes& times, KindTimes* sum) {
  for (size_t i = 0; i < kTimelineKinds; ++i) (*sum)[i] += times[i];
}

K KindOf(const PipelinePass& pass) {
  if (pass.combined()) return K::kForwardBackward;
  return pass.forward() ? K::kForward : K::kBackward;
}

double EndOf(const OnceTimes& once) {
  return once.optimizer_start_us + once.optimizer_us + once.fixed_us + once.gather_last_us;
}

class RankDrawing {
 public:
  RankDrawing(const StepDetail& detail, const std::vector<ChunkCosts>& costs, int rank, Timeline* timeline,
              TimelineView* view)
      : detail_(detail), costs_(costs), rank_(rank), timeline_(*timeline), view_(*view) {}

  void DrawStart(const OnceTimes& once) {
    Put(K::kParameterGather, S::kData, 0, once.gather_first_us + once.gather_first_hidden_us, once.gather_first_us,
        "weights gathered");
  }

  // Passes [begin, end) one by one.
  void DrawPasses(const std::vector<PipelinePass>& passes, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      DrawPass(passes[i]);
      Work::Spend(64);
    }
  }

  // Passes [begin, end) as one event.
  void DrawJoined(const std::vector<PipelinePass>& passes, size_t begin, size_t end) {
    const double start = passes[begin].start_us - passes[begin].wait_us, until = FreeAt(passes[end - 1]);
    const auto count = static_cast<int64_t>(end - begin);
    TimelineEvent& event =
        Put(K::kPasses, S::kCompute, start, until - start, until - start, absl::StrCat(count, " passes"));
    event.repeat = count;
    view_.joined_passes += count;
  }

  void DrawEnd(double passes_end_us, const OnceTimes& once) {
    Put(K::kGradientReduce, S::kData, passes_end_us - once.reduce_hidden_us, once.reduce_hidden_us + once.reduce_us,
        once.reduce_us, "gradients reduced");
    double now = passes_end_us + once.reduce_us;
    Put(K::kBubble, S::kCompute, now, once.optimizer_start_us - now, once.optimizer_start_us - now, "waits");
    now = once.optimizer_start_us;
    Put(K::kOptimizer, S::kCompute, now, once.optimizer_us, once.optimizer_us, "optimizer");
    now += once.optimizer_us;
    Put(K::kStepFixed, S::kCompute, now, once.fixed_us, once.fixed_us, "fixed per step");
    now += once.fixed_us;
    Put(K::kParameterGather, S::kData, now, once.gather_last_us, once.gather_last_us, "weights gathered");
    now += once.gather_last_us;
    const double scheduled = timeline_.scheduled_us;
    Put(K::kBubble, S::kCompute, now, scheduled - now, scheduled - now, "waits");
  }

 private:
  double FreeAt(const PipelinePass& pass) const {
    return pass.end_us + detail_.hop_us * (1 - detail_.hop_hidden) * pass.transfers();
  }

  void DrawPass(const PipelinePass& pass) {
    Put(K::kBubble, S::kCompute, pass.start_us - pass.wait_us, pass.wait_us, pass.wait_us, "waits");
    const PassCost cost = CostOf(pass, costs_);
    const double us = pass.end_us - pass.start_us;
    TimelineEvent& event = Put(KindOf(pass), S::kCompute, pass.start_us, us, us, NameOf(pass, timeline_.vpp));
    event.microbatch = pass.forward() ? pass.forward_microbatch : pass.backward_microbatch;
    if (pass.combined()) event.backward_microbatch = pass.backward_microbatch;
    event.pass = SortOf(pass, rank_, cost, &timeline_.passes);
    const double hop = detail_.hop_us, exposed = (1 - detail_.hop_hidden) * hop;
    if (pass.forward()) DrawTransfer(S::kPipeline, pass.forward_sent_us, hop, exposed, "activations");
    if (pass.backward()) DrawTransfer(S::kPipelineBackward, pass.backward_sent_us, hop, exposed, "gradients");
  }

  // What would end behind the step is cut off.
  void DrawTransfer(S stream, double sent_us, double us, double exposed_us, const char* name) {
    const double left = std::min(us, timeline_.scheduled_us - sent_us);
    Put(K::kPipelineTransfer, stream, sent_us, left, std::min(left, exposed_us), name);
  }

  // An event without length is dropped; what is returned may then be written to and is forgotten.
  TimelineEvent& Put(K kind, S stream, double start_us, double us, double exposed_us, std::string name) {
    TimelineEvent event{kind, stream, rank_, std::max(0.0, start_us), us, exposed_us, std::move(name)};
    if (us <= kNothingUs) return dropped_ = std::move(event);
    view_.events.push_back(std::move(event));
    return view_.events.back();
  }

  const StepDetail& detail_;
  const std::vector<ChunkCosts>& costs_;
  const int rank_;
  Timeline& timeline_;
  TimelineView& view_;
  TimelineEvent dropped_;
};

}  // namespace

PassCost CostOf(const PipelinePass& pass, const std::vector<ChunkCosts>& chunks) {
  if (!pass.forward()) return chunks[static_cast<size_t>(pass.backward_chunk)].backward;
  const ChunkCosts& forward = chunks[static_cast<size_t>(pass.forward_chunk)];
  if (!pass.combined()) return forward.forward;
  return forward.half_forward + chunks[static_cast<size_t>(pass.backward_chunk)].half_backward;
}

void SumStep(const StepDetail& detail, const Replay& replay, const CostTable& costs, const std::vector<OnceTimes>& once,
             Timeline* timeline) {
  const double hop = detail.hop_us;
  for (size_t rank = 0; rank < replay.ranks.size(); ++rank) {
    TimelineRank& sums = timeline->ranks[rank];
    const bool counted = static_cast<int>(rank) == timeline->slowest;
    double flight = 0, waits = 0, transfers = 0;
    for (const PipelinePass& pass : replay.ranks[rank]) {
      sums.busy_us += pass.end_us - pass.start_us;
      waits += pass.wait_us;
      flight += pass.flight_us;
      transfers += pass.transfers();
      if (!counted) continue;
      const PassCost cost = CostOf(pass, costs[rank]);
      Add(cost.exposed, &timeline->scheduled);
      Add(cost.hidden, &timeline->hidden);
    }
    const OnceTimes& o = once[rank];
    waits += o.optimizer_start_us - (replay.end_us[rank] + o.reduce_us) + timeline->scheduled_us - EndOf(o);
    sums.once_us = o.gather_first_us + o.reduce_us + o.optimizer_us + o.fixed_us + o.gather_last_us;
    sums.bubble_us = waits - flight;
    if (std::abs(sums.bubble_us) < std::max(kNothingUs, kRounding * timeline->scheduled_us)) sums.bubble_us = 0;
    sums.transfer_us = flight + transfers * hop * (1 - detail.hop_hidden);
    if (!counted) continue;
    timeline->scheduled[At(K::kBubble)] += sums.bubble_us;
    timeline->scheduled[At(K::kPipelineTransfer)] += sums.transfer_us;
    timeline->hidden[At(K::kPipelineTransfer)] += transfers * hop * detail.hop_hidden;
    timeline->scheduled[At(K::kGradientReduce)] += o.reduce_us;
    timeline->hidden[At(K::kGradientReduce)] += o.reduce_hidden_us;
    timeline->scheduled[At(K::kParameterGather)] += o.gather_first_us + o.gather_last_us;
    timeline->hidden[At(K::kParameterGather)] += o.gather_first_hidden_us;
    timeline->scheduled[At(K::kOptimizer)] += o.optimizer_us;
    timeline->scheduled[At(K::kStepFixed)] += o.fixed_us;
  }
}

std::string NameOf(const PipelinePass& pass, int vpp) {
  const auto one = [&](absl::string_view letter, int64_t microbatch, int chunk) {
    return vpp > 1 ? absl::StrCat(letter, " ", microbatch, ".", chunk) : absl::StrCat(letter, " ", microbatch);
  };
  if (!pass.forward()) return one("B", pass.backward_microbatch, pass.backward_chunk);
  const std::string forward = one("F", pass.forward_microbatch, pass.forward_chunk);
  return pass.combined() ? absl::StrCat(forward, " ", one("B", pass.backward_microbatch, pass.backward_chunk))
                         : forward;
}

int SortOf(const PipelinePass& pass, int rank, const PassCost& cost, std::vector<TimelinePass>* passes) {
  const K kind = KindOf(pass);
  const int chunk = pass.forward() ? pass.forward_chunk : pass.backward_chunk;
  const int backward_chunk = pass.combined() ? pass.backward_chunk : -1;
  for (size_t i = 0; i < passes->size(); ++i) {
    const TimelinePass& known = (*passes)[i];
    if (known.kind == kind && known.chunk == chunk && known.backward_chunk == backward_chunk &&
        known.exposed == cost.exposed && known.hidden == cost.hidden) {
      return static_cast<int>(i);
    }
  }
  passes->push_back({kind, rank, chunk, backward_chunk, cost.exposed, cost.hidden});
  return static_cast<int>(passes->size() - 1);
}

TimelineView ViewStep(const StepDetail& detail, const Replay& replay, const CostTable& costs,
                      const std::vector<OnceTimes>& once, const TimelineAsked& asked, Timeline* timeline) {
  TimelineView view;
  view.zoom = TimelineZoom::kStep;
  view.us = timeline->scheduled_us;
  std::vector<int> shown = asked.ranks;
  if (shown.empty()) {
    shown.resize(replay.ranks.size());
    std::iota(shown.begin(), shown.end(), 0);
  }
  std::sort(shown.begin(), shown.end());
  const auto ranks = static_cast<int64_t>(shown.size());
  const int64_t a_rank = std::max(kLeastEventsPerRank, asked.max_events / ranks);
  const auto whole = static_cast<size_t>((a_rank - kOnceEvents) / kEventsPerPass);
  for (int rank : shown) {
    const auto at = static_cast<size_t>(rank);
    const std::vector<PipelinePass>& passes = replay.ranks[at];
    RankDrawing drawing(detail, costs[at], rank, timeline, &view);
    drawing.DrawStart(once[at]);
    if (passes.size() <= whole) {
      drawing.DrawPasses(passes, 0, passes.size());
    } else {
      const size_t kept = std::max<size_t>(1, (whole - 1) / 2);
      drawing.DrawPasses(passes, 0, kept);
      drawing.DrawJoined(passes, kept, passes.size() - kept);
      drawing.DrawPasses(passes, passes.size() - kept, passes.size());
    }
    drawing.DrawEnd(replay.end_us[at], once[at]);
  }
  view.title = absl::StrCat("one step by pipeline rank, ", timeline->microbatches, " microbatches");
  return view;
}

}  // namespace flightplan
