#include "resolver/runlog/run_log.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/runlog/scan.h"
#include "resolver/runlog/timer_line.h"

namespace flightplan {
namespace {

constexpr size_t kRecent = 64;
constexpr size_t kLongestUnfinished = 4096;
constexpr size_t kMostStages = 1024;
constexpr size_t kMostGpus = 1024;

StepSample SampleOf(const StepLine& line) {
  StepSample sample;
  sample.iteration = line.iteration;
  sample.step_ms = static_cast<float>(line.step_ms);
  sample.tflops = static_cast<float>(line.tflops);
  sample.tokens = static_cast<float>(line.tokens);
  sample.global_batch = static_cast<int32_t>(std::min<int64_t>(line.global_batch, std::numeric_limits<int32_t>::max()));
  return sample;
}

// Half of the samples, evenly; the first after a start says how long a start takes, so it stays.
void Thin(std::vector<StepSample>* samples) {
  size_t kept = 0;
  for (size_t i = 0; i < samples->size(); ++i) {
    if (i % 2 == 0 || (*samples)[i].since_start == 0) (*samples)[kept++] = (*samples)[i];
  }
  samples->resize(kept);
}

void Raise(double value, double* most) { *most = std::max(*most, value); }

void RaiseReport(const MemoryReport& from, MemoryReport* to) {
  to->rank = from.rank;
  to->iterations = std::max(to->iterations, from.iterations);
  Raise(from.allocated, &to->allocated);
  Raise(from.max_allocated, &to->max_allocated);
  Raise(from.reserved, &to->reserved);
  Raise(from.max_reserved, &to->max_reserved);
  Raise(from.device, &to->device);
}

void RaiseGpu(const GpuMemory& from, std::map<int64_t, GpuMemory>* gpus) {
  if (gpus->size() >= kMostGpus && gpus->find(from.index) == gpus->end()) return;
  GpuMemory& gpu = (*gpus)[from.index];
  if (from.used < gpu.used) return;
  gpu = from;
}

void RaiseStage(int64_t stage, int64_t count, std::map<int64_t, int64_t>* stages) {
  if (stages->size() >= kMostStages && stages->find(stage) == stages->end()) return;
  int64_t& most = (*stages)[stage];
  most = std::max(most, count);
}

bool AnyOf(absl::string_view text, std::initializer_list<absl::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [text](absl::string_view word) { return absl::StrContains(text, word); });
}

}  // namespace

bool RunLogReader::IsRepeat(const StepLine& line, absl::string_view tag) {
  const float step_ms = static_cast<float>(line.step_ms);
  for (const Recent& recent : recent_) {
    if (recent.iteration != line.iteration) continue;
    if (recent.step_ms == step_ms || recent.tag != tag) return true;
  }
  return false;
}

void RunLogReader::Keep(const StepLine& line) {
  StepSample sample = SampleOf(line);
  sample.since_start = static_cast<uint32_t>(std::min<int64_t>(since_start_, std::numeric_limits<uint32_t>::max()));
  sample.event = std::exchange(event_, StepEvent::kNone);
  if (since_start_ == 0 || seen_ % static_cast<int64_t>(log_.stride) == 0) log_.steps.push_back(sample);
  ++since_start_;
  ++seen_;
  if (log_.steps.size() >= RunLog::kMostSamples) {
    Thin(&log_.steps);
    log_.stride *= 2;
  }
}

void RunLogReader::AddStep(const StepLine& line, absl::string_view tag) {
  if (IsRepeat(line, tag)) {
    ++log_.repeated;
    return;
  }
  if (log_.reports > 0 && line.iteration <= log_.last_iteration) {
    ++log_.restarts;
    since_start_ = 0;
    recent_.clear();
    next_recent_ = 0;
  }
  if (log_.reports == 0) log_.first_iteration = line.iteration;
  log_.first_iteration = std::min(log_.first_iteration, line.iteration);
  log_.last_iteration = line.iteration;
  if (line.total > 0) log_.total_iterations = line.total;
  ++log_.reports;
  log_.skipped_iterations += line.skipped;
  // The program's own count has only the updates that it skipped over a loss.
  log_.nan_iterations += std::max<int64_t>(line.nan, line.no_number ? 1 : 0);
  if (line.has_loss) {
    log_.has_loss = true;
    log_.last_loss = line.loss;
  }
  if (line.max_allocated_bytes > 0) {
    MemoryReport report;
    report.iterations = line.iteration;
    report.max_allocated = line.max_allocated_bytes;
    report.max_reserved = line.max_reserved_bytes;
    AddMemory(report);
  }
  Recent recent = {line.iteration, static_cast<float>(line.step_ms), std::string(tag)};
  if (recent_.size() < kRecent) {
    recent_.push_back(std::move(recent));
  } else {
    recent_[next_recent_++ % kRecent] = std::move(recent);
  }
  Keep(line);
}

void RunLogReader::AddBridgeStep(const StepLine& line) {
  if (log_.bridge_steps.size() >= RunLog::kMostSamples) return;
  StepSample sample = SampleOf(line);
  sample.iteration = static_cast<int64_t>(log_.bridge_steps.size()) + 1;
  sample.since_start = static_cast<uint32_t>(log_.bridge_steps.size());
  log_.bridge_steps.push_back(sample);
}

void RunLogReader::AddMemory(const MemoryReport& report) {
  const int64_t rank = report.rank < 0 ? -1 : report.rank;
  if (log_.ranks.size() >= RunLog::kMostRanks && log_.ranks.find(rank) == log_.ranks.end()) {
    RaiseReport(report, &log_.ranks[-1]);  // still counts for the fullest
    return;
  }
  RaiseReport(report, &log_.ranks[rank]);
}

void RunLogReader::AddEvents(absl::string_view text) {
  if (AnyOf(text, {"saving checkpoint at iteration", "successfully saved checkpoint"})) event_ = StepEvent::kCheckpoint;
  if (AnyOf(text, {"validation loss at iteration", "Evaluating on ", "Evaluating iter"}))
    event_ = StepEvent::kEvaluation;
  if (AnyOf(text, {"[after training is done]", "[exiting program at iteration"})) log_.finished = true;
  if (AnyOf(text, {"CUDA out of memory", "OutOfMemoryError"})) ++log_.out_of_memory;
}

void RunLogReader::AddFacts(absl::string_view text, bool complete) {
  if (absl::StrContains(text, " memory (")) {
    ReadMemoryReports(text, complete, [this](const MemoryReport& report) { AddMemory(report); });
  }
  if (absl::StrContains(text, "optimizer")) {
    const auto ms = static_cast<float>(ReadOptimizerTimer(text, complete));
    if (ms > 0 && log_.optimizer_ms.size() < RunLog::kMostTimers) {
      log_.optimizer_ms.push_back(ms);
    } else if (ms > 0) {
      log_.optimizer_ms[timers_++ % RunLog::kMostTimers] = ms;
    }
  }
  if (absl::StrContains(text, "Theoretical memory")) {
    if (const auto memory = ReadTheoreticalMemory(text); memory.has_value()) log_.theoretical = *memory;
  }
  if (absl::StrContains(text, "umber of parameters")) {
    if (const auto count = ReadParameterCount(text, complete); count.has_value()) {
      RaiseStage(count->pipeline_rank, count->count, &log_.stage_parameters);
    }
    if (const double total = ReadTotalParameters(text); total > 0) log_.total_parameters = total;
  }
}

void RunLogReader::Add(absl::string_view line, bool complete) {
  ++log_.lines;
  std::string joined;
  if (!unfinished_.empty()) {
    // A terminal broke the report where its line was full, so nothing stands between the halves.
    joined = absl::StrCat(std::exchange(unfinished_, std::string()), line);
    line = joined;
  }
  const Tagged tagged = WithoutTag(line);
  const absl::string_view text = tagged.text;
  if (absl::StrContains(text, "iteration")) {
    const int64_t before = log_.reports + log_.repeated;
    ReadStepLines(text, complete, [&](const StepLine& step) { AddStep(step, tagged.tag); });
    const bool none = log_.reports + log_.repeated == before;
    if (none && joined.empty() && complete && text.size() <= kLongestUnfinished && BeginsStepLine(text)) {
      unfinished_ = std::string(line);
      return;
    }
  }
  if (absl::StrContains(text, "Step Time")) {
    if (const auto step = ReadStepTime(text, complete); step.has_value()) AddBridgeStep(*step);
  }
  AddEvents(text);
  AddFacts(text, complete);
  if (const auto gpu = gpus_.Read(text); gpu.has_value()) RaiseGpu(*gpu, &log_.gpus);
  arguments_.Read(text, complete);
}

RunLog RunLogReader::Log() const {
  RunLog log = log_;
  log.arguments = arguments_.arguments();
  return log;
}

void Merge(const RunLog& other, RunLog* log) {
  std::set<std::pair<int64_t, float>> known;
  for (const StepSample& sample : log->steps) known.emplace(sample.iteration, sample.step_ms);
  int64_t added = 0;
  for (const StepSample& sample : other.steps) {
    if (!known.emplace(sample.iteration, sample.step_ms).second) continue;
    log->steps.push_back(sample);
    ++added;
  }
  const int64_t same = static_cast<int64_t>(other.steps.size()) - added;
  log->stride = std::max(log->stride, other.stride);
  while (log->steps.size() > RunLog::kMostSamples) {
    Thin(&log->steps);
    log->stride *= 2;
  }
  if (added > 0) {
    if (log->reports > 0 && other.first_iteration <= log->last_iteration) ++log->restarts;
    log->first_iteration =
        log->reports > 0 ? std::min(log->first_iteration, other.first_iteration) : other.first_iteration;
    log->last_iteration = std::max(log->last_iteration, other.last_iteration);
    log->total_iterations = std::max(log->total_iterations, other.total_iterations);
    log->reports += other.reports - same;
    log->restarts += other.restarts;
    log->skipped_iterations += other.skipped_iterations;
    log->nan_iterations += other.nan_iterations;
    if (other.has_loss) {
      log->has_loss = true;
      log->last_loss = other.last_loss;
    }
  }
  log->repeated += other.repeated + same;
  if (log->bridge_steps.empty()) log->bridge_steps = other.bridge_steps;
  for (const auto& [rank, report] : other.ranks) {
    if (log->ranks.size() < RunLog::kMostRanks || log->ranks.count(rank) > 0) RaiseReport(report, &log->ranks[rank]);
  }
  for (const auto& [stage, count] : other.stage_parameters) RaiseStage(stage, count, &log->stage_parameters);
  for (const auto& [index, gpu] : other.gpus) RaiseGpu(gpu, &log->gpus);
  if (log->arguments.empty()) log->arguments = other.arguments;
  if (log->optimizer_ms.empty()) log->optimizer_ms = other.optimizer_ms;
  if (other.theoretical.states > 0) log->theoretical = other.theoretical;
  if (other.total_parameters > 0) log->total_parameters = other.total_parameters;
  log->finished = log->finished || other.finished;
  log->out_of_memory += other.out_of_memory;
  log->bytes += other.bytes;
  log->lines += other.lines;
  log->cut_lines += other.cut_lines;
}

}  // namespace flightplan
