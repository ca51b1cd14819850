// The micro-step of one layer pair under Megatron's combined 1F1B schedule: the forward of one microbatch beside the
// backward of another, on a compute and a communication stream. Forecast from the parts' own times and what running
// beside each other costs them; nothing is allocated.
//
// Both streams are first in, first out; the nodes of one microbatch form a chain; a delayed weight gradient waits only
// for its stream (NVIDIA/Megatron-LM@d98e8a64dd models/common/model_chunk_schedule_plan.py:261-301).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/fit/contention.h"

namespace flightplan::fit {

enum class PairNode : uint8_t {
  kPreFwd,  // attention, norms, router, permute
  kDispatchFwd,
  kMlpFwd,  // experts
  kCombineFwd,
  kCombineBwd,
  kMlpBwd,
  kMlpWgrad,
  kDispatchBwd,
  kPreBwd,
  kPreWgrad,
};
inline constexpr size_t kPairNodes = 10;
std::string_view Name(PairNode node);  // "pre.fwd", "dispatch.fwd", ...
bool IsExchange(PairNode node);

struct PairParts {
  std::array<double, kPairNodes> us{};  // alone
  // Of each compute node and the exchange that runs beside it.
  std::array<Slowdown, kPairNodes> beside{};

  double& operator[](PairNode node) { return us[static_cast<size_t>(node)]; }
  double operator[](PairNode node) const { return us[static_cast<size_t>(node)]; }
};

struct PairSchedule {
  bool overlap = true;  // false: one stream, forward then backward
  bool delay_wgrad = false;
  bool early_release = false;  // ep_overlap_early_attn_memory_release
};

struct PairSpan {
  PairNode node{};
  double start_us = 0, end_us = 0;
};

struct PairForecast {
  double us = 0;
  double hidden_us = 0;                      // both streams run
  double exposed_us = 0;                     // only the exchange runs
  std::array<PairSpan, kPairNodes> spans{};  // in the order of their starts
  size_t span_count = 0;
};

PairForecast ForecastPair(const PairParts& parts, const PairSchedule& schedule);

}  // namespace flightplan::fit
