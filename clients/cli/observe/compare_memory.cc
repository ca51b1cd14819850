#include "clients/cli/observe/compare_memory.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "clients/cli/observe/figure_values.h"
#include "clients/cli/observe/launch_config.h"
#include "resolver/base/bytes.h"

namespace flightplan::cli {
namespace {

constexpr double kSmallMemory = 0.03;  // differences below are within what the allocator rounds
constexpr double kMostUnknown = 0.05;  // of a snapshot's peak: with more of it causes would mislead

const v1::StageMemory* StageOf(const v1::Estimate& estimate, int64_t stage) {
  for (const v1::StageMemory& row : estimate.stages()) {
    if (row.stage() <= stage && stage <= std::max(row.stage(), row.last_stage_index())) return &row;
  }
  return nullptr;
}

const v1::StageMemory* Fullest(const v1::Estimate& estimate, const v1::Range& (v1::StageMemory::*size)() const) {
  const v1::StageMemory* fullest = nullptr;
  for (const v1::StageMemory& row : estimate.stages()) {
    if (fullest == nullptr || (row.*size)().value() > (fullest->*size)().value()) fullest = &row;
  }
  return fullest;
}

// The stage of a rank: stages are the outermost dimension of Megatron's order. -1: not known.
int64_t StageOfRank(const Observation& o, int64_t rank) {
  const int64_t stages = ConfigSize(o.launch, "pipeline_model_parallel_size", 1);
  if (rank < 0 || o.gpu_count <= 0 || stages <= 0 || rank >= o.gpu_count || o.gpu_count % stages != 0) return -1;
  return rank / (o.gpu_count / stages);
}

double PartBytes(const v1::StageMemory& stage, std::initializer_list<absl::string_view> names) {
  double bytes = 0;
  for (const v1::MemoryPart& part : stage.parts()) {
    if (std::find(names.begin(), names.end(), part.name()) != names.end())
      bytes += static_cast<double>(part.part_bytes());
  }
  return bytes;
}

// The memory's difference in two: what stays (`allocated` between steps), and what comes and goes with a step.
void ExplainMemory(const MemoryReport& report, const v1::StageMemory& stage, Observation* o) {
  if (report.allocated <= 0 || report.max_allocated <= report.allocated) return;
  const double difference = report.max_allocated - stage.allocated_bytes().value();
  const double states = report.allocated - PartBytes(stage, {"parameters", "gradients", "optimizer_state"});
  if (std::abs(difference) < kSmallMemory * stage.allocated_bytes().value()) return;
  o->causes.push_back(
      absl::StrFormat("memory: %+.1f GiB between steps (weights, gradients, optimizer state), %+.1f GiB in activations "
                      "and buffers of the step",
                      states / kGib, (difference - states) / kGib));
}

// What stays between steps: weights, gradients and optimizer state, each counted exactly.
ComparedFigure StatesOf(const MemoryReport& report, const v1::StageMemory& stage, int index) {
  return {"states_bytes", Point(PartBytes(stage, {"parameters", "gradients", "optimizer_state"})),
          Positive(report.allocated), index};
}

const MemoryReport* FullestRank(const RunLog& log) {
  const MemoryReport* fullest = nullptr;
  for (const auto& [rank, report] : log.ranks) {
    if (fullest == nullptr || report.max_allocated > fullest->max_allocated) fullest = &report;
  }
  return fullest != nullptr && fullest->max_allocated > 0 ? fullest : nullptr;
}

// What the peak of a snapshot was for, where the stacks behind its blocks say so.
void AddCauses(Observation* o) {
  const MemorySnapshot& snapshot = o->snapshot;
  if (snapshot.peak <= 0 || snapshot.of(MemoryCause::kUnknown) > kMostUnknown * snapshot.peak) return;
  const v1::Estimate& estimate = o->launch.estimate();
  const int index = static_cast<int>(StageOfRank(*o, snapshot.rank));
  const v1::StageMemory* const own = index < 0 ? nullptr : StageOf(estimate, index);
  const v1::StageMemory* const stage = own != nullptr ? own : Fullest(estimate, &v1::StageMemory::allocated_bytes);
  const auto part = [stage](std::initializer_list<absl::string_view> names) {
    return stage == nullptr ? 0 : PartBytes(*stage, names);
  };
  const double built = snapshot.of(MemoryCause::kParametersAndGradients);
  const double optimizer = snapshot.of(MemoryCause::kOptimizerState);
  const double forecast_built = part({"parameters", "gradients"}), forecast_optimizer = part({"optimizer_state"});
  const double peak = stage == nullptr ? 0 : stage->allocated_bytes().value();
  const auto add = [&](const char* name, double measured, double forecast) {
    o->figures.push_back({name, Point(forecast), Positive(measured), index});
  };
  add("parameter_and_gradient_bytes", built, forecast_built);
  add("optimizer_state_bytes", optimizer, forecast_optimizer);
  add("step_bytes", snapshot.peak - built - optimizer, peak - forecast_built - forecast_optimizer);
}

void AddAllocated(Observation* o) {
  const v1::Estimate& estimate = o->launch.estimate();
  const MemoryReport* const report = FullestRank(o->log);
  const v1::StageMemory* stage = Fullest(estimate, &v1::StageMemory::allocated_bytes);
  ComparedFigure allocated = {"allocated_bytes", std::nullopt, std::nullopt, -1};
  if (report != nullptr) {
    o->peak_allocated = report->max_allocated;
    allocated.measured = report->max_allocated;
    // The optimizer's state is made at the end of the first iteration, so no peak before that has it.
    allocated.at_least = report->iterations >= 0 && report->iterations <= 1;
    const int64_t index = StageOfRank(*o, report->rank);
    if (const v1::StageMemory* own = index < 0 ? nullptr : StageOf(estimate, index); own != nullptr) {
      stage = own;
      allocated.stage = static_cast<int>(index);
    }
  }
  if (stage != nullptr) allocated.forecast = RangeOf(stage->allocated_bytes());
  o->figures.push_back(allocated);
  AddCauses(o);
  if (report == nullptr || stage == nullptr || report->allocated <= 0) return;
  o->figures.push_back(StatesOf(*report, *stage, allocated.stage));
  if (!allocated.at_least && allocated.stage >= 0) ExplainMemory(*report, *stage, o);
}

void AddDevice(Observation* o) {
  for (const auto& [rank, report] : o->log.ranks) o->peak_device = std::max(o->peak_device, report.device);
  for (const auto& [index, gpu] : o->log.gpus) o->peak_device = std::max(o->peak_device, gpu.used);
  ComparedFigure device = {"device_bytes", std::nullopt, Positive(o->peak_device), -1};
  const v1::StageMemory* const most = Fullest(o->launch.estimate(), &v1::StageMemory::total_bytes);
  if (most != nullptr) {
    device.forecast = RangeOf(most->has_device_bytes() ? most->device_bytes() : most->total_bytes());
  }
  o->figures.push_back(std::move(device));
}

}  // namespace

void CompareMemory(Observation* o) {
  AddAllocated(o);
  AddDevice(o);
}

}  // namespace flightplan::cli
