// A run's output, read line by line into what it says of the run. Memory is bounded whatever the output's length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/runlog/arguments_block.h"
#include "resolver/runlog/gpu_table.h"
#include "resolver/runlog/memory_line.h"
#include "resolver/runlog/step_line.h"

namespace flightplan {

// What happened in the iterations that a report of the loop is about.
enum class StepEvent : uint8_t { kNone, kCheckpoint, kEvaluation };

// One report of the loop, as it is kept.
struct StepSample {
  int64_t iteration = 0;
  float step_ms = 0;
  float tflops = 0;
  float tokens = 0;  // per second and GPU
  int32_t global_batch = 0;
  uint32_t since_start = 0;  // reports since the run, or its last restart, began
  StepEvent event = StepEvent::kNone;
};

// Everything that was read. Memory in bytes.
struct RunLog {
  static constexpr size_t kMostSamples = size_t{1} << 17;
  static constexpr size_t kMostRanks = 8192;
  static constexpr size_t kMostTimers = 4096;

  std::vector<StepSample> steps;
  size_t stride = 1;                     // every so many reports are kept, where there were more than kMostSamples
  std::vector<StepSample> bridge_steps;  // Bridge's lines of its own, numbered from 1; the same steps again
  int64_t reports = 0;                   // of the loop, repeats left out
  int64_t repeated = 0;                  // reports that another rank or file had printed, too
  int64_t restarts = 0;                  // the iteration went back
  int64_t first_iteration = 0, last_iteration = 0, total_iterations = 0;
  int64_t skipped_iterations = 0;
  int64_t nan_iterations = 0;  // with a loss or a gradient norm that is infinite or no number
  bool has_loss = false;
  double last_loss = 0;  // may be no number

  std::map<int64_t, MemoryReport> ranks;  // by rank, the largest of each figure; -1: reports that name none
  double total_parameters = 0;
  std::map<int64_t, int64_t> stage_parameters;  // by pipeline rank, of its fullest tensor rank
  TheoreticalMemory theoretical;
  std::map<int64_t, GpuMemory> gpus;  // by index, the largest use seen
  std::map<std::string, std::string> arguments;

  std::vector<float> optimizer_ms;  // of a step, slowest rank; at most kMostTimers, the latest

  bool finished = false;      // it says that the training is done
  int64_t out_of_memory = 0;  // lines that say so
  uint64_t bytes = 0, lines = 0, cut_lines = 0;
};

// Adds what another file of the same run says. Reports that both have count once.
void Merge(const RunLog& other, RunLog* log);

class RunLogReader {
 public:
  // One line, as LineSplitter gives it.
  void Add(absl::string_view line, bool complete);
  // What other readers found: a report of the loop, by the rank `tag` names, and one of memory.
  void AddStep(const StepLine& line, absl::string_view tag);
  void AddMemory(const MemoryReport& report);
  // What was read so far.
  RunLog Log() const;
  int64_t reports() const { return log_.reports + static_cast<int64_t>(log_.bridge_steps.size()); }
  int64_t last_iteration() const { return log_.last_iteration; }
  bool finished() const { return log_.finished; }

 private:
  struct Recent {
    int64_t iteration = -1;
    float step_ms = 0;
    std::string tag;
  };

  void AddBridgeStep(const StepLine& line);
  bool IsRepeat(const StepLine& line, absl::string_view tag);
  void Keep(const StepLine& line);
  void AddEvents(absl::string_view text);
  void AddFacts(absl::string_view text, bool complete);

  RunLog log_;
  ArgumentsReader arguments_;
  GpuTableReader gpus_;
  std::string unfinished_;  // a report whose time must be in the next line
  std::vector<Recent> recent_;
  size_t next_recent_ = 0;
  int64_t since_start_ = 0;
  int64_t seen_ = 0;  // reports, for the stride
  size_t timers_ = 0;
  StepEvent event_ = StepEvent::kNone;
};

}  // namespace flightplan
