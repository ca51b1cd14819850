#include "resolver/timeline/replay.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/work.h"

namespace flightplan {
namespace {

constexpr size_t kPassCosts = 96;  // in units of base/work.h: to order, price, shift and sum a pass, beside its replay

// Microbatch and chunk of each forward of a rank, in order. Backwards take the same microbatches, chunks in reverse.
std::vector<std::pair<int64_t, int>> ForwardsOf(const Schedule& s) {
  std::vector<std::pair<int64_t, int>> passes;
  passes.reserve(static_cast<size_t>(s.microbatches * s.vpp));
  for (int64_t first = 0; first < s.microbatches; first += s.group) {
    const int64_t end = std::min(s.microbatches, first + s.group);
    for (int chunk = 0; chunk < s.vpp; ++chunk) {
      for (int64_t m = first; m < end; ++m) passes.emplace_back(m, chunk);
    }
  }
  return passes;
}

// When the ways to the next and to the previous stage are free.
struct Links {
  double forward_us = 0, backward_us = 0;
};

class Replayer {
 public:
  Replayer(const Schedule& schedule, const std::vector<std::vector<PassLengths>>& lengths, const PipelineHop& hop)
      : schedule_(schedule), lengths_(lengths), hop_(hop), stages_(schedule.pp * schedule.vpp) {
    const auto cells = static_cast<size_t>(schedule.microbatches) * static_cast<size_t>(stages_);
    sent_forward_.assign(cells, -1);
    sent_backward_.assign(cells, -1);
  }

  // What a pass waits for has been sent; `sent_us` is when its compute ended, the later one's.
  bool IsReady(const PipelinePass& pass, int rank, double* sent_us) const {
    *sent_us = -1;
    if (pass.forward()) {
      const int stage = pass.forward_chunk * schedule_.pp + rank;
      if (stage > 0 && !Wait(sent_forward_, pass.forward_microbatch, stage - 1, sent_us)) return false;
    }
    if (!pass.backward()) return true;
    const int stage = pass.backward_chunk * schedule_.pp + rank;
    if (stage + 1 < stages_) return Wait(sent_backward_, pass.backward_microbatch, stage + 1, sent_us);
    // The loss's own gradient.
    double ignored = -1;
    return Wait(sent_forward_, pass.backward_microbatch, stage, &ignored);
  }

  // Runs it on a rank that is free at `now_us`; returns when the rank is free again.
  double Run(int rank, double now_us, double sent_us, Links* links, PipelinePass* pass) {
    const double ready_us = sent_us < 0 ? now_us : std::max(now_us, sent_us + hop_.us);
    pass->start_us = ready_us;
    pass->wait_us = ready_us - now_us;
    pass->flight_us = sent_us < 0 ? 0 : ready_us - std::min(ready_us, std::max(now_us, sent_us));
    pass->end_us = pass->start_us + LengthOf(*pass, rank);
    // Each direction carries one output at a time.
    if (pass->forward()) {
      pass->forward_sent_us = std::max(pass->end_us, links->forward_us);
      links->forward_us = pass->forward_sent_us + hop_.us;
      sent_forward_[At(pass->forward_microbatch, pass->forward_chunk * schedule_.pp + rank)] = pass->forward_sent_us;
    }
    if (pass->backward()) {
      pass->backward_sent_us = std::max(pass->end_us, links->backward_us);
      links->backward_us = pass->backward_sent_us + hop_.us;
      sent_backward_[At(pass->backward_microbatch, pass->backward_chunk * schedule_.pp + rank)] =
          pass->backward_sent_us;
    }
    return pass->end_us + hop_.us * hop_.exposed * pass->transfers();
  }

 private:
  size_t At(int64_t microbatch, int stage) const {
    return static_cast<size_t>(microbatch) * static_cast<size_t>(stages_) + static_cast<size_t>(stage);
  }
  bool Wait(const std::vector<double>& sent, int64_t microbatch, int stage, double* sent_us) const {
    const double us = sent[At(microbatch, stage)];
    *sent_us = std::max(*sent_us, us);
    return us >= 0;
  }
  double LengthOf(const PipelinePass& pass, int rank) const {
    const std::vector<PassLengths>& chunks = lengths_[static_cast<size_t>(rank)];
    double us = 0;
    if (pass.forward()) {
      const PassLengths& own = chunks[static_cast<size_t>(pass.forward_chunk)];
      us += pass.combined() ? own.combined_forward : own.forward;
    }
    if (pass.backward()) {
      const PassLengths& own = chunks[static_cast<size_t>(pass.backward_chunk)];
      us += pass.combined() ? own.combined_backward : own.backward;
    }
    return us;
  }

  const Schedule& schedule_;
  const std::vector<std::vector<PassLengths>>& lengths_;
  const PipelineHop& hop_;
  const int stages_;
  std::vector<double> sent_forward_, sent_backward_;  // by microbatch and stage; -1: not yet
};

}  // namespace

std::vector<PipelinePass> OrderOfPasses(const Schedule& schedule, int rank, bool combined) {
  const std::vector<std::pair<int64_t, int>> forwards = ForwardsOf(schedule);
  const auto total = static_cast<int64_t>(forwards.size());
  const int64_t warm_up = WarmUpPasses(schedule, rank);
  std::vector<PipelinePass> order;
  order.reserve(static_cast<size_t>(combined ? total + warm_up : 2 * total));
  for (int64_t i = 0; i < total + warm_up; ++i) {
    PipelinePass forward, backward;
    if (i < total) {
      std::tie(forward.forward_microbatch, forward.forward_chunk) = forwards[static_cast<size_t>(i)];
    }
    if (i >= warm_up) {
      const auto& [microbatch, chunk] = forwards[static_cast<size_t>(i - warm_up)];
      backward.backward_microbatch = microbatch;
      backward.backward_chunk = schedule.vpp - 1 - chunk;
    }
    if (combined && forward.forward() && backward.backward()) {
      forward.backward_microbatch = backward.backward_microbatch;
      forward.backward_chunk = backward.backward_chunk;
      backward = PipelinePass();
    }
    if (forward.forward()) order.push_back(forward);
    if (backward.backward()) order.push_back(backward);
  }
  return order;
}

absl::StatusOr<Replay> ReplayPasses(const Schedule& schedule, bool combined,
                                    const std::vector<std::vector<PassLengths>>& lengths, const PipelineHop& hop,
                                    const std::vector<double>& begin_us) {
  Replay replay;
  replay.end_us = begin_us;
  for (int rank = 0; rank < schedule.pp; ++rank) {
    replay.ranks.push_back(OrderOfPasses(schedule, rank, combined));
    Work::Spend(kPassCosts * replay.ranks.back().size());
    if (Work::Spent()) return absl::CancelledError("the timeline was ended before its end");
  }
  Replayer replayer(schedule, lengths, hop);
  std::vector<size_t> next(replay.ranks.size(), 0);
  std::vector<Links> links(replay.ranks.size());
  size_t left = 0;
  for (const auto& passes : replay.ranks) left += passes.size();
  while (left > 0) {
    const size_t before = left;
    for (size_t rank = 0; rank < replay.ranks.size(); ++rank) {
      std::vector<PipelinePass>& passes = replay.ranks[rank];
      double sent_us = -1;
      for (; next[rank] < passes.size(); ++next[rank], --left) {
        PipelinePass& pass = passes[next[rank]];
        if (!replayer.IsReady(pass, static_cast<int>(rank), &sent_us)) break;
        replay.end_us[rank] = replayer.Run(static_cast<int>(rank), replay.end_us[rank], sent_us, &links[rank], &pass);
        Work::Spend(16);
      }
    }
    Work::Spend(4 * replay.ranks.size());
    if (Work::Spent()) return absl::CancelledError("the timeline was ended before its end");
    if (left == before) {
      return absl::FailedPreconditionError(absl::StrCat("the schedule of PP ", schedule.pp, ", VPP ", schedule.vpp,
                                                        ", ", schedule.microbatches, " microbatches in groups of ",
                                                        schedule.group, " never ends: passes wait for each other"));
    }
  }
  return replay;
}

}  // namespace flightplan
