// The virtual stages of a pipeline that is given without them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "resolver/layouts/layout_search.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// The question gives a pipeline of several ranks and nothing about how it is cut (VPP 1 is a word).
bool VirtualStagesAreOpen(const NormalizedIntent& intent);

// Ranks the numbers of virtual stages of one pipeline, where they are open. What else is open counts as 1.
class VirtualStageSearch {
 public:
  explicit VirtualStageSearch(const NormalizedIntent& intent)
      : VirtualStageSearch(intent, VirtualStagesAreOpen(intent)) {}
  // Of a pipeline with a given number of virtual stages: where its layers go is all that is open of it. Of such a
  // search `Open` and `Before` alone are asked.
  static VirtualStageSearch OfSplits(const NormalizedIntent& intent) {
    return VirtualStageSearch(intent, /*open=*/true);  // made where the caller has it
  }
  VirtualStageSearch(const VirtualStageSearch&) = delete;
  VirtualStageSearch& operator=(const VirtualStageSearch&) = delete;

  // Best first, with the dispatcher, EP overlap and graphs that the decisions take without virtual stages, or those of
  // a plan that was resolved with some. Recompute and offload are open. Empty: not open, or nothing fits. Those that
  // fill all of the memory come only where no others fit.
  std::vector<int64_t> AsDecided();
  std::vector<int64_t> AsIn(const ResolvedPlan& plan);

  // Opens every way of execution beside the plan's; the caller takes out of it what stands. Null: the stages are not
  // open.
  ExecutionSpace* Open(const ResolvedPlan& plan);
  // Of what is open the best execution of each number that fills no more than `room`, a share of the memory, and ranks
  // before the limit, best first: by its step, in microseconds, with its cautions and with the memory's of the room.
  std::vector<FoundPlan> Before(double limit_us, double room);

 private:
  VirtualStageSearch(const NormalizedIntent& intent, bool open);
  Candidate PrepareAsIn(const ResolvedPlan& plan, bool dear);
  std::vector<int64_t> Ranked(const Candidate& as);
  bool open_ = false;
  LayoutSearch search_;
  std::map<std::pair<int, int>, std::vector<std::shared_ptr<const StageLayout>>> stages_;  // by PP and VPP
  // Of the question, before it is asked as in a plan.
  std::vector<Exchange> exchanges_;  // all that are open
  std::vector<Recompute> recomputes_;
  bool regained_tp_overlap_ = false;  // of the plan at hand, by its dispatcher
};

}  // namespace flightplan
