#include "resolver/answer/timeline_answer.h"

#include <string>

#include "flightplan/v1/timeline.pb.h"

namespace flightplan {
namespace {

v1::TimelineKind Kind(TimelineKind kind) { return static_cast<v1::TimelineKind>(kind); }

static_assert(static_cast<int>(TimelineKind::kBubble) == v1::TIMELINE_KIND_BUBBLE);
static_assert(static_cast<int>(TimelineKind::kGradientReduce) == v1::TIMELINE_KIND_GRADIENT_REDUCE);
static_assert(static_cast<int>(TimelineStream::kPipelineBackward) == v1::TIMELINE_STREAM_PIPELINE_BACKWARD);
static_assert(static_cast<int>(TimelineZoom::kLayer) == v1::TIMELINE_ZOOM_LAYER);
static_assert(static_cast<int>(TimelineSchedule::kInterleaved) == v1::TIMELINE_SCHEDULE_INTERLEAVED);

void RankToMessage(const TimelineRank& rank, int index, v1::TimelineRank* message) {
  message->set_pipeline_rank(index);
  message->set_busy_us(rank.busy_us);
  message->set_bubble_us(rank.bubble_us);
  message->set_transfer_us(rank.transfer_us);
  message->set_once_us(rank.once_us);
  for (int count : rank.layers) message->add_layer_counts(count);
  message->set_embedding(rank.embedding);
  message->set_loss(rank.loss);
  message->set_warm_up_count(rank.warm_up);
}

void PassToMessage(const TimelinePass& pass, v1::TimelinePass* message) {
  message->set_kind(Kind(pass.kind));
  message->set_pipeline_rank(pass.rank);
  message->set_virtual_stage_index(pass.chunk);
  if (pass.backward_chunk >= 0) message->set_backward_virtual_stage_index(pass.backward_chunk);
  double us = 0;
  for (size_t kind = 0; kind < kTimelineKinds; ++kind) {
    us += pass.exposed[kind];
    if (pass.exposed[kind] <= 0 && pass.hidden[kind] <= 0) continue;
    v1::TimelinePart* const part = message->add_parts();
    part->set_kind(static_cast<v1::TimelineKind>(kind));
    part->set_exposed_us(pass.exposed[kind]);
    part->set_hidden_us(pass.hidden[kind]);
  }
  message->set_duration_us(us);
}

void EventToMessage(const TimelineEvent& event, v1::TimelineEvent* message) {
  message->set_kind(Kind(event.kind));
  message->set_stream(static_cast<v1::TimelineStream>(event.stream));
  message->set_pipeline_rank(event.rank);
  message->set_start_us(event.start_us);
  message->set_duration_us(event.us);
  message->set_exposed_us(event.exposed_us);
  message->set_name(event.name);
  if (event.microbatch >= 0) message->set_microbatch_index(event.microbatch);
  if (event.backward_microbatch >= 0) message->set_backward_microbatch_index(event.backward_microbatch);
  if (event.pass >= 0) message->set_pass_index(event.pass);
  if (event.repeat > 1) message->set_repeat_count(event.repeat);
  message->set_backward(event.backward);
  if (event.layer >= 0) message->set_layer_index(static_cast<int32_t>(event.layer));
}

void ViewToMessage(const TimelineView& view, v1::TimelineView* message) {
  message->set_zoom(static_cast<v1::TimelineZoom>(view.zoom));
  message->set_duration_us(view.us);
  message->set_title(view.title);
  message->set_joined_pass_count(view.joined_passes);
  for (const TimelineEvent& event : view.events) EventToMessage(event, message->add_events());
}

}  // namespace

void TimelineToMessage(const Timeline& timeline, v1::DescribeTimelineResponse* response) {
  response->set_step_time_us(timeline.step_us);
  response->set_scheduled_us(timeline.scheduled_us);
  response->set_replayed_us(timeline.replayed_us);
  response->set_stack_overhead_ratio(timeline.stack_overhead);
  response->set_schedule(static_cast<v1::TimelineSchedule>(timeline.schedule));
  response->set_combined(timeline.combined);
  response->set_delayed_weight_gradients(timeline.delayed_weight_gradients);
  response->set_pipeline_model_parallel_size(timeline.pp);
  response->set_virtual_pipeline_model_parallel_size(timeline.vpp);
  response->set_microbatch_count(timeline.microbatches);
  response->set_microbatch_group_size_per_vp_stage(timeline.group);
  response->set_slowest_pipeline_rank(timeline.slowest);
  for (size_t kind = 0; kind < kTimelineKinds; ++kind) {
    if (timeline.scheduled[kind] == 0 && timeline.hidden[kind] == 0 && timeline.forecast[kind] == 0) continue;
    v1::TimelineTotal* const total = response->add_totals();
    total->set_kind(static_cast<v1::TimelineKind>(kind));
    total->set_scheduled_us(timeline.scheduled[kind]);
    total->set_hidden_us(timeline.hidden[kind]);
    total->set_forecast_us(timeline.forecast[kind]);
  }
  for (size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
    RankToMessage(timeline.ranks[rank], static_cast<int>(rank), response->add_ranks());
  }
  for (const TimelinePass& pass : timeline.passes) PassToMessage(pass, response->add_passes());
  for (const TimelineView& view : timeline.views) ViewToMessage(view, response->add_views());
  for (const std::string& note : timeline.notes) response->add_notes(note);
}

}  // namespace flightplan
