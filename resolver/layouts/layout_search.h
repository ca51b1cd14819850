// A question as the planner searches it: what is given, what is open, and the ways of execution that the release, the
// GPU and the installed libraries leave.
#pragma once

#include <array>
#include <optional>

#include "absl/status/status.h"
#include "resolver/estimate/memory.h"
#include "resolver/plan/config.h"
#include "resolver/plan/intent.h"
#include "resolver/planner/search.h"

namespace flightplan {

// Everything that a search points at; not to be moved once it is prepared.
struct LayoutSearch {
  NormalizedIntent intent;
  ModelShape shape;
  ModelWork work;
  LayoutSizes given;  // by the question; 0: open
  // By which of TP, PP and CP, where they are open, are more than one, and by whether an open EP is, or is so large
  // that its ranks are unevenly loaded.
  std::array<Candidate, 24> bases;
  Config config;           // with the plainest layout
  bool own_split = false;  // the caller says how the layers are split
  SearchQuestion question;
};

// Layouts that go through the whole pipeline: the decisions may settle one otherwise than the search would, the rules
// of the release may refuse it, and some are alike.
inline constexpr size_t kPool = 60;

// INVALID_ARGUMENT when the model cannot be counted. question.rates.known is false for a GPU without published rates,
// of which nothing can be searched.
absl::Status PrepareSearch(NormalizedIntent intent, LayoutSearch* search);

}  // namespace flightplan
