// One training step as events: what each pipeline rank does when, on which stream, from the pieces of the step's
// forecast (estimate/step_detail.h). Microseconds throughout.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "resolver/derive/candidate.h"
#include "resolver/derive/shape.h"
#include "resolver/estimate/step_detail.h"
#include "resolver/plan/timeline_asked.h"

namespace flightplan {

// Numbered as flightplan.v1.TimelineKind, which says what each is.
enum class TimelineKind : uint8_t {
  kForward = 1,
  kBackward,
  kForwardBackward,
  kPasses,
  kWeightGradient,
  kRecompute,
  kDispatch,
  kCombine,
  kExpertExchange,
  kTensorParallel,
  kContextParallel,
  kPipelineTransfer,
  kGradientReduce,
  kParameterGather,
  kOptimizer,
  kStepFixed,
  kHost,
  kActivationOffload,
  kBubble,
};
inline constexpr size_t kTimelineKinds = 20;  // with the 0 that is none
using KindTimes = std::array<double, kTimelineKinds>;
// Where a kind stands in KindTimes.
constexpr size_t At(TimelineKind kind) { return static_cast<size_t>(kind); }

// Numbered as flightplan.v1.TimelineStream.
enum class TimelineStream : uint8_t { kCompute = 1, kExpert, kModel, kPipeline, kData, kHost, kPipelineBackward };

// Numbered as flightplan.v1.TimelineSchedule.
enum class TimelineSchedule : uint8_t { kNoPipelining = 1, kOneForwardOneBackward, kInterleaved };

// Fields as flightplan.v1.TimelineEvent has them; -1: unset.
struct TimelineEvent {
  TimelineKind kind = TimelineKind::kForward;
  TimelineStream stream = TimelineStream::kCompute;
  int rank = 0;
  double start_us = 0, us = 0, exposed_us = 0;
  std::string name;
  int64_t microbatch = -1, backward_microbatch = -1;
  int pass = -1;  // of Timeline::passes
  int64_t repeat = 1;
  bool backward = false;
  int64_t layer = -1;
};

struct TimelineView {
  TimelineZoom zoom = TimelineZoom::kStep;
  double us = 0;
  std::vector<TimelineEvent> events;  // by rank, stream, start
  std::string title;
  int64_t joined_passes = 0;
};

// A sort of pass.
struct TimelinePass {
  TimelineKind kind = TimelineKind::kForward;
  int rank = 0, chunk = 0, backward_chunk = -1;
  KindTimes exposed{}, hidden{};  // the sum of `exposed` is the pass
};

struct TimelineRank {
  double busy_us = 0, transfer_us = 0, bubble_us = 0, once_us = 0;
  std::vector<int> layers;  // by chunk
  bool embedding = false, loss = false;
  int64_t warm_up = 0;
};

struct Timeline {
  double step_us = 0;       // the forecast's
  double scheduled_us = 0;  // the end of the schedule as drawn: the same
  double replayed_us = 0;   // of the schedule in which nobody waits longer than for what it needs
  double stack_overhead = 1;
  TimelineSchedule schedule = TimelineSchedule::kNoPipelining;
  bool combined = false, delayed_weight_gradients = false;
  int pp = 1, vpp = 1;
  int64_t microbatches = 1, group = 1;
  int slowest = 0;
  KindTimes scheduled{}, hidden{}, forecast{};  // of the slowest rank
  std::vector<TimelineRank> ranks;
  std::vector<TimelinePass> passes;
  std::vector<TimelineView> views;
  std::vector<std::string> notes;
};

// Passes that are replayed at most, of all ranks: what a step of PP 64, VPP 4 and 1,024 microbatches has. Each takes
// some 80 bytes, all together 42 MiB.
inline constexpr int64_t kMaxTimelinePasses = int64_t{1} << 19;

// Replays the step of a candidate. `plan.stages` must be set.
// FAILED_PRECONDITION: there is no forecast, or the schedule is too long to replay or never ends. INVALID_ARGUMENT: a
// rank or a layer that is asked for is none of the model's. CANCELLED: the budget of work is spent (base/work.h).
absl::StatusOr<Timeline> DrawStep(const ModelShape& shape, const ModelWork& work, const Candidate& plan,
                                  const GpuRates& rates, const TimelineAsked& asked);

}  // namespace flightplan
