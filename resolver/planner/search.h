// Finds the best layouts of a model on a number of GPUs: every legal combination of sizes and of ways to execute it is
// judged by memory and step time, or pruned by a bound that cannot lose the best.
//
// Pure and deterministic: the answer does not depend on how many threads `parallel` uses. Bounds:
//   memory bound   parameters, gradients and optimizer state, or the inputs of the layers in flight, which even full
//                  recompute keeps, are above the capacity
//   time bound     matrix products, attention and tensor and context parallel transfers alone, with the pipeline's
//                  bubble, take longer than the worst layout kept; or, in a layout, a way of execution is slower even
//                  without recompute and offload, which only add time
// A quick search of the usual corner of the space comes first, so that there is something to be slower than.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "resolver/estimate/memory.h"
#include "resolver/estimate/step.h"
#include "resolver/planner/caution.h"
#include "resolver/planner/space.h"

namespace flightplan {

enum class SearchObjective { kStepTime, kMemoryHeadroom };

// Calls body(begin, end) for ranges that cover [0, count), on as many threads as it likes, and returns when all are
// done.
using ParallelFor = std::function<void(size_t count, const std::function<void(size_t begin, size_t end)>& body)>;
void RunInOrder(size_t count, const std::function<void(size_t begin, size_t end)>& body);

struct SearchProgress {
  double done_ratio = 0;  // of the layouts
  int64_t judged = 0;     // candidates
  double best_us = 0;     // 0: none yet
};

// What one search holds of its pipelines: several times what models of 130 layers have on any number of GPUs.
inline constexpr size_t kMaxStageBytes = size_t{48} << 20;

struct SearchQuestion {
  const ModelShape* shape = nullptr;
  const ModelWork* work = nullptr;
  GpuRates rates;
  GpuMemory memory;  // capacity 0: not known, everything fits
  LayoutQuestion layout;
  ExecutionSpace execution;
  // Everything that the search does not vary, for these sizes; sizes, stages and execution are overwritten.
  std::function<Candidate(const LayoutSizes&)> base;
  // Ways to give the layers to the stages, the plainest first, the same for the same sizes; none: the sizes are not
  // legal. Called from every thread of `parallel`, and again for what the search has no room to hold.
  // It counts its own work.
  std::function<std::vector<std::shared_ptr<const StageLayout>>(int pp, int vpp)> stages;
  SearchObjective objective = SearchObjective::kStepTime;
  // By time: what is outside the evidence ranks as if it took longer (planner/caution.h). Empty: by time alone.
  std::optional<CautionContext> caution;
  double room = 1;   // share of the memory's capacity that a candidate's forecast may fill (kRoom of estimate/memory.h)
  size_t keep = 64;  // layouts to return
  // Layouts that rank behind it are of no use: of the step with its caution, in microseconds, or of the memory in
  // bytes.
  double limit = std::numeric_limits<double>::infinity();
  // Bytes of stages to hold; the others are made again where a layout with them is judged. The answer is the same.
  size_t stage_bytes = kMaxStageBytes;
  // Of layouts that differ in VPP and micro-batch alone, the most to return: a list of the best few is of little use
  // where all are one mapping of the model on the GPUs. 0: no limit.
  size_t keep_alike = 0;
  // Candidates judged and sizes looked at; the search then stops with the best so far, at the same place whatever the
  // number of threads. 0: no limit.
  int64_t work_limit = 0;
  // Of base/work.h, which what is deep or large costs more of; the same of what runs on the thread that searches. 0: no
  // limit beside the caller's own.
  uint64_t units = 0;
  ParallelFor parallel = RunInOrder;
  // Called by the thread that searches, every few hundred microseconds of its work and between batches; false stops the
  // search, which then returns the best so far.
  std::function<bool(const SearchProgress&)> progress;
};

// The best way to execute one layout.
struct FoundPlan {
  LayoutSizes sizes;
  size_t split = 0;  // which of SearchQuestion::stages
  Candidate candidate;
  std::shared_ptr<const StageLayout> stages;  // the candidate's; null where they are the caller's
  StepForecast step;
  Band memory;  // of the fullest stage
  FitVerdict fit = FitVerdict::kUnknown;
  double caution = 1;  // what the step counts for in the ranking
};

// More promising layouts than any real question has.
inline constexpr size_t kMaxLayouts = size_t{1} << 20;

struct SearchStatistics {
  int64_t layouts = 0;       // legal combinations of sizes
  int64_t space = 0;         // candidates: layouts times ways to split their layers and to execute them
  int64_t judged = 0;        // candidates whose time, and where it mattered memory, was worked out
  int64_t memory_bound = 0;  // candidates pruned
  int64_t time_bound = 0;    // candidates pruned
  int64_t incompatible = 0;  // combinations that upstream refuses
  bool cut = false;          // more promising layouts than kMaxLayouts
  bool stopped = false;      // by `progress`, `work_limit` or `units`, or with the caller's work
  uint64_t units = 0;        // spent
};

struct SearchResult {
  std::vector<FoundPlan> plans;  // best first
  SearchStatistics statistics;
};

SearchResult Search(const SearchQuestion& question);

// Whether the caller has a use for an execution of this forecast, which has no interval.
using OfUse = std::function<bool(const StepForecast&)>;

// The fastest way to execute one layout that fits and takes less than `limit_us`; nothing where there is none.
// `stages` must outlive the result. Reads neither the question's wish nor its stages; says nothing of the memory.
// `of_use`: leaves out an exchange and graphs of which no execution below the limit is of use, or not the fastest where
// that fits; this saves asking what fits. What is found of the others need not be of use itself. Null: all are.
std::optional<FoundPlan> SearchExecutions(const SearchQuestion& question, const LayoutSizes& sizes,
                                          const StageLayout& stages, double limit_us, const OfUse& of_use = nullptr);

}  // namespace flightplan
