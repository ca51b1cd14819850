#include "resolver/normalize/timeline_request.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "flightplan/v1/timeline.pb.h"
#include "resolver/normalize/request_bounds.h"
#include "resolver/normalize/violations.h"

namespace flightplan {
namespace {

constexpr int kLeastEvents = 64, kMostEvents = 32768, kDefaultEvents = 4096;
// More ranks than a pipeline has are refused once its size is known; this keeps a list of them short before.
constexpr int kMostRanks = 4096;

}  // namespace

absl::StatusOr<TimelineAsked> NormalizeTimeline(const v1::DescribeTimelineRequest& request) {
  Violations violations;
  TimelineAsked asked;
  if (request.config_case() == v1::DescribeTimelineRequest::CONFIG_NOT_SET) {
    violations.Add("config", "one of resolve and validate must be set");
  }
  CheckCount("zooms", request.zooms_size(), kMaxChoices, &violations);
  for (int i = 0; i < request.zooms_size(); ++i) {
    const int zoom = request.zooms(i);
    if (zoom < v1::TIMELINE_ZOOM_STEP || zoom > v1::TIMELINE_ZOOM_LAYER) {
      violations.Add(absl::StrCat("zooms[", i, "]"), "must be STEP, STEADY or LAYER");
      break;
    }
    asked.zooms.push_back(static_cast<TimelineZoom>(zoom));
  }
  if (request.pipeline_ranks_size() > kMostRanks) {
    violations.Add("pipeline_ranks", absl::StrCat("at most ", kMostRanks));
  } else {
    asked.ranks.assign(request.pipeline_ranks().begin(), request.pipeline_ranks().end());
    if (std::set<int>(asked.ranks.begin(), asked.ranks.end()).size() != asked.ranks.size()) {
      violations.Add("pipeline_ranks", "a rank stands there twice");
    }
  }
  if (request.has_detail_pipeline_rank()) {
    asked.detail_rank = request.detail_pipeline_rank();
    if (asked.detail_rank < 0) violations.Add("detail_pipeline_rank", "must not be negative");
  }
  if (request.has_layer_index()) {
    asked.layer = request.layer_index();
    if (asked.layer < 0) violations.Add("layer_index", "must not be negative");
  }
  const int events = request.has_max_event_count() ? request.max_event_count() : kDefaultEvents;
  asked.max_events = events;
  if (events < kLeastEvents || events > kMostEvents) {
    violations.Add("max_event_count", absl::StrCat("must be ", kLeastEvents, "..", kMostEvents, ", not ", events));
  }
  if (!violations.empty()) return violations.ToStatus();
  return asked;
}

absl::Status AsViolation(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kInvalidArgument) return status;
  const std::pair<absl::string_view, absl::string_view> fault =
      absl::StrSplit(status.message(), absl::MaxSplits(": ", 1));
  Violations violations;
  violations.Add(fault.first, fault.second);
  return violations.ToStatus();
}

}  // namespace flightplan
