// What a run may have left: read as a log, as an event file, as a trace and as a snapshot of memory, in two pieces and
// in one, which must agree.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "resolver/runlog/event_file.h"
#include "resolver/runlog/line_splitter.h"
#include "resolver/runlog/memory_snapshot.h"
#include "resolver/runlog/run_log.h"
#include "resolver/runlog/step_statistics.h"
#include "resolver/runlog/trace.h"
#include "tests/fuzz/feedback.h"

namespace flightplan::fuzz {
namespace {

RunLog ReadLog(absl::string_view text, size_t cut) {
  LineSplitter splitter;
  RunLogReader reader;
  const auto take = [&reader](absl::string_view line, bool complete) { reader.Add(line, complete); };
  splitter.Push(text.substr(0, cut), take);
  splitter.Push(text.substr(cut), take);
  splitter.Finish(take);
  return reader.Log();
}

template <class Reader>
Reader ReadPieces(absl::string_view bytes, size_t cut) {
  Reader reader;
  reader.Push(bytes.substr(0, cut));
  reader.Push(bytes.substr(cut));
  return reader;
}

// What the input was good for, by count: an input with more of something is worth going on from.
void Tell(absl::string_view what, size_t count) {
  if (count > 0) Met(absl::StrCat(what, " ", std::min<size_t>(count, 8)));
}

void TellLog(const RunLog& log) {
  Tell("reports", static_cast<size_t>(log.reports));
  Tell("repeated", static_cast<size_t>(log.repeated));
  Tell("restarts", static_cast<size_t>(log.restarts));
  Tell("bridge", log.bridge_steps.size());
  Tell("ranks", log.ranks.size());
  Tell("gpus", log.gpus.size());
  Tell("stages", log.stage_parameters.size());
  Tell("arguments", log.arguments.size());
  Tell("cut", log.cut_lines);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t cut = size / 3;
  const RunLog whole = ReadLog(text, 0), halves = ReadLog(text, cut);
  const StepStatistics steps = StatisticsOf(whole);
  TellLog(whole);
  Tell("used", static_cast<size_t>(steps.used));
  Tell("outliers", static_cast<size_t>(steps.outliers));
  if (whole.reports != halves.reports || steps.median_ms != StatisticsOf(halves).median_ms) __builtin_trap();
  if (!(steps.median_ms >= 0) || steps.low_ms > steps.high_ms) __builtin_trap();
  RunLog merged = whole;
  Merge(halves, &merged);
  if (merged.reports != whole.reports) __builtin_trap();
  if (ReadPieces<EventFileReader>(text, 0).records() != ReadPieces<EventFileReader>(text, cut).records())
    __builtin_trap();
  const TraceSummary trace = ReadPieces<TraceReader>(text, 0).Summary();
  Tell("kernels", static_cast<size_t>(trace.kernels));
  Tell("paths", trace.exposed_by_path.size());
  if (trace.kernels != ReadPieces<TraceReader>(text, cut).Summary().kernels) __builtin_trap();
  if (!(trace.idle_us >= 0) || !(trace.exposed_us >= -1e-3 * trace.span_us - 1)) __builtin_trap();
  if (const absl::StatusOr<MemorySnapshot> snapshot = ReadMemorySnapshot(text); snapshot.ok()) {
    Tell("events", static_cast<size_t>(snapshot->events));
    if (!(snapshot->allocated >= 0) || !(snapshot->peak >= 0)) __builtin_trap();
  }
  return 0;
}

}  // namespace flightplan::fuzz
