#include "clients/cli/timeline_words.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace flightplan::cli {
namespace {

constexpr KindLook kLooks[] = {
    {v1::TIMELINE_KIND_FORWARD, 'F', "forward", "#4a76c9", "#7ba2ee", Hatch::kNone},
    {v1::TIMELINE_KIND_BACKWARD, 'B', "backward", "#2e9a69", "#56c492", Hatch::kRising},
    {v1::TIMELINE_KIND_FORWARD_BACKWARD, 'X', "forward and backward", "#1f95a8", "#55c3d4", Hatch::kCrossed},
    {v1::TIMELINE_KIND_PASSES, '=', "passes, joined", "#8fa3bf", "#64799a", Hatch::kUpright},
    {v1::TIMELINE_KIND_WEIGHT_GRADIENT, 'W', "weight gradient", "#85b83c", "#a9d65f", Hatch::kFalling},
    {v1::TIMELINE_KIND_RECOMPUTE, 'R', "recompute", "#b08432", "#d6ac5c", Hatch::kDots},
    {v1::TIMELINE_KIND_DISPATCH, 'd', "dispatch", "#df7a35", "#f19a5d", Hatch::kLevel},
    {v1::TIMELINE_KIND_COMBINE, 'c', "combine", "#d34a4a", "#ee7a7a", Hatch::kCrossed},
    {v1::TIMELINE_KIND_EXPERT_EXCHANGE, 'e', "dispatch and combine", "#df7a35", "#f19a5d", Hatch::kLevel},
    {v1::TIMELINE_KIND_TENSOR_PARALLEL, 't', "tensor parallel", "#9b54ba", "#c088dc", Hatch::kUpright},
    {v1::TIMELINE_KIND_CONTEXT_PARALLEL, 'x', "context parallel", "#cc68aa", "#e796cb", Hatch::kDots},
    {v1::TIMELINE_KIND_PIPELINE_TRANSFER, 'p', "pipeline transfer", "#7b8894", "#a3b0bc", Hatch::kNone},
    {v1::TIMELINE_KIND_GRADIENT_REDUCE, 'g', "gradients reduced", "#bf9b00", "#e0c240", Hatch::kLevel},
    {v1::TIMELINE_KIND_PARAMETER_GATHER, 'a', "weights gathered", "#8c7a10", "#bdaa40", Hatch::kFalling},
    {v1::TIMELINE_KIND_OPTIMIZER, 'o', "optimizer", "#5a5ad0", "#9393f0", Hatch::kDense},
    {v1::TIMELINE_KIND_STEP_FIXED, 'f', "fixed per step", "#8a8a8a", "#a8a8a8", Hatch::kDots},
    {v1::TIMELINE_KIND_HOST, 'h', "host", "#a8432c", "#d97a63", Hatch::kRising},
    {v1::TIMELINE_KIND_ACTIVATION_OFFLOAD, 'l', "activation offload", "#6b4e9b", "#a58bd0", Hatch::kLevel},
    {v1::TIMELINE_KIND_BUBBLE, '.', "waits for other ranks", "#e6e9ed", "#2a3038", Hatch::kNone},
};
struct StreamWord {
  v1::TimelineStream stream;
  absl::string_view name;
};
// In the order of lanes.
constexpr StreamWord kStreams[] = {{v1::TIMELINE_STREAM_COMPUTE, "compute"},
                                   {v1::TIMELINE_STREAM_EXPERT, "expert exchange"},
                                   {v1::TIMELINE_STREAM_MODEL, "tensor, context"},
                                   {v1::TIMELINE_STREAM_PIPELINE, "to next stage"},
                                   {v1::TIMELINE_STREAM_PIPELINE_BACKWARD, "to stage before"},
                                   {v1::TIMELINE_STREAM_DATA, "data parallel"},
                                   {v1::TIMELINE_STREAM_HOST, "host"}};
constexpr KindLook kOther = {v1::TIMELINE_KIND_UNSPECIFIED, '*', "other", "#999999", "#999999", Hatch::kNone};

}  // namespace

absl::Span<const KindLook> KindLooks() { return kLooks; }

const KindLook& LookOf(v1::TimelineKind kind) {
  for (const KindLook& look : kLooks) {
    if (look.kind == kind) return look;
  }
  return kOther;
}

absl::string_view StreamName(v1::TimelineStream stream) {
  for (const auto& [known, name] : kStreams) {
    if (known == stream) return name;
  }
  return "other";
}

std::string DurationText(double us, bool utf8) {
  if (!std::isfinite(us)) return "?";
  double value = us;
  const char* unit = utf8 ? "µs" : "us";
  if (std::abs(us) >= 1e6) {
    value = us / 1e6, unit = "s";
  } else if (std::abs(us) >= 1e3) {
    value = us / 1e3, unit = "ms";
  }
  const double size = std::abs(value);
  return absl::StrFormat("%.*f %s", size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2, value, unit);
}

std::string ScheduleText(const v1::DescribeTimelineResponse& timeline) {
  std::string text = "a schedule that this program does not know";
  if (timeline.schedule() == v1::TIMELINE_SCHEDULE_NO_PIPELINING) text = "no pipeline";
  if (timeline.schedule() == v1::TIMELINE_SCHEDULE_ONE_FORWARD_ONE_BACKWARD) text = "1F1B";
  if (timeline.schedule() == v1::TIMELINE_SCHEDULE_INTERLEAVED) text = "interleaved 1F1B";
  if (timeline.combined()) text += ", forward beside backward";
  if (timeline.delayed_weight_gradients()) text += ", delayed weight gradients";
  return text;
}

std::string LayoutText(const v1::DescribeTimelineResponse& timeline) {
  return absl::StrCat("PP ", timeline.pipeline_model_parallel_size(), " x VPP ",
                      timeline.virtual_pipeline_model_parallel_size(), ", ", timeline.microbatch_count(),
                      timeline.microbatch_count() == 1 ? " microbatch, " : " microbatches, ", ScheduleText(timeline));
}

std::vector<v1::TimelineStream> StreamsOf(const v1::TimelineView& view) {
  std::vector<v1::TimelineStream> streams;
  for (const auto& row : kStreams) {
    const v1::TimelineStream stream = row.stream;
    const bool used = std::any_of(view.events().begin(), view.events().end(),
                                  [&](const v1::TimelineEvent& event) { return event.stream() == stream; });
    if (used) streams.push_back(stream);
  }
  return streams;
}

std::vector<int> RanksOf(const v1::TimelineView& view) {
  std::set<int> ranks;
  for (const v1::TimelineEvent& event : view.events()) ranks.insert(event.pipeline_rank());
  return {ranks.begin(), ranks.end()};
}

double TickStep(double length, int most) {
  if (!(length > 0) || !std::isfinite(length)) return 1;
  const double rough = length / most, power = std::pow(10, std::floor(std::log10(rough)));
  for (double step : {1.0, 2.0, 5.0}) {
    if (step * power >= rough) return step * power;
  }
  return 10 * power;
}

}  // namespace flightplan::cli
