// What a caller wants to see of a step (resolver/timeline).
#pragma once

#include <cstdint>
#include <vector>

namespace flightplan {

// Numbered as flightplan.v1.TimelineZoom.
enum class TimelineZoom : uint8_t { kStep = 1, kSteady, kLayer };

struct TimelineAsked {
  std::vector<TimelineZoom> zooms;  // empty: all
  std::vector<int> ranks;           // pipeline ranks of the whole step; empty: all
  int detail_rank = -1;             // of the other views; -1: the slowest
  int64_t layer = -1;               // -1: the heaviest of that rank
  int64_t max_events = 4096;        // of the whole step, or 20 a rank where that is more
};

}  // namespace flightplan
