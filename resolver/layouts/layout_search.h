// A question as the planner searches it: what is given, what is open, and the ways of execution that the release, the
// GPU and the installed libraries leave.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "resolver/plan/config.h"
#include "resolver/plan/intent.h"
#include "resolver/planner/search.h"

namespace flightplan {

// Everything that a search points at; not to be moved once it is prepared.
struct LayoutSearch {
  NormalizedIntent intent;
  ModelShape shape;
  ModelWork work;
  std::array<Candidate, 16> bases;
  std::map<std::pair<int, int>, std::vector<std::unique_ptr<StageLayout>>> stages;
  Config config;           // with the plainest layout
  bool own_split = false;  // the caller says how the layers are split
  SearchQuestion question;
};

// INVALID_ARGUMENT when the model cannot be counted. question.rates.known is false for a GPU without published rates,
// of which nothing can be searched.
absl::Status PrepareSearch(NormalizedIntent intent, LayoutSearch* search);

// The caller's own value of a knob.
std::optional<Value> PinOf(const NormalizedIntent& intent, Knob knob);

}  // namespace flightplan
