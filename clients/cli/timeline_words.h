// How kinds and streams of a timeline are called and shown.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flightplan/v1/timeline.pb.h"

namespace flightplan::cli {

// What is drawn over a bar's colour, so that colour is never alone.
enum class Hatch { kNone, kRising, kFalling, kCrossed, kUpright, kLevel, kDots, kDense };

struct KindLook {
  v1::TimelineKind kind;
  absl::string_view name;   // "weight gradient"
  char letter;              // in a terminal
  absl::string_view light;  // colours on a light and on a dark page
  absl::string_view dark;
  Hatch hatch;
};

// In the order of TimelineKind.
absl::Span<const KindLook> KindLooks();
// Of a kind that this program does not know: that of "other".
const KindLook& LookOf(v1::TimelineKind kind);

absl::string_view StreamName(v1::TimelineStream stream);

// "12.3 ms", "6.91 s", "85 µs": three figures.
std::string DurationText(double us, bool utf8 = true);

// "interleaved 1F1B, forward beside backward": the schedule in words.
std::string ScheduleText(const v1::DescribeTimelineResponse& timeline);

// "PP 8 x VPP 4, 128 microbatches, interleaved 1F1B": what stands above a picture.
std::string LayoutText(const v1::DescribeTimelineResponse& timeline);

// Streams in which a view has events, in order.
std::vector<v1::TimelineStream> StreamsOf(const v1::TimelineView& view);
// Pipeline ranks of a view, in order.
std::vector<int> RanksOf(const v1::TimelineView& view);

// A step of 1, 2 or 5 times a power of ten that cuts a length into at most `most` parts.
double TickStep(double length, int most);

}  // namespace flightplan::cli
