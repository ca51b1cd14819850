// Reads what a run left in files: its logs, TensorBoard's event files, a trace of PyTorch's profiler, snapshots of
// PyTorch's allocator, each packed or not; and Nsight Systems' report, exported to SQLite.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/observe/inflate.h"
#include "resolver/runlog/event_file.h"
#include "resolver/runlog/line_splitter.h"
#include "resolver/runlog/memory_snapshot.h"
#include "resolver/runlog/run_log.h"
#include "resolver/runlog/trace.h"

namespace flightplan::cli {

inline constexpr size_t kMostRunFiles = 4096;
inline constexpr int kDeepestRunFolder = 4;
inline constexpr uint64_t kMostRunBytes = uint64_t{64} << 30;  // of one file, unpacked: one that never ends ends here

// The files of a run below `path`, by name: itself, "-" for standard input, or of a folder those that look like logs or
// event files or traces (*.log, *.out, *.err, *.txt, *.csv, stdout, stderr, events.out.tfevents.*, *trace*.json,
// *snapshot*.pickle; .gz behind any; *.sqlite, *.nsys-rep). Links are not followed. Errors are INVALID_ARGUMENT and
// name the path.
absl::StatusOr<std::vector<std::string>> RunFiles(const std::string& path);

// One file as it arrives, of whatever kind its first bytes show.
class RunFileReader {
 public:
  void Push(absl::string_view bytes);
  // The file ends here.
  void Finish();

  RunLog Log();
  TraceSummary Trace() const { return trace_.Summary(); }
  const MemorySnapshot& Snapshot() const { return snapshot_; }
  const RunLogReader& reader() const { return reader_; }
  bool full() const { return bytes_ > kMostRunBytes; }
  // Why not all of it was read; empty: it was.
  std::string fault() const;

 private:
  enum class Kind { kUnknown, kText, kPacked, kEvents, kTrace, kSnapshot, kDatabase };

  static Kind KindOf(absl::string_view begin);
  // Whether the kind can be told of what is there.
  static bool Shows(absl::string_view begin);
  void Take(absl::string_view bytes);

  void TakeUnpacked(absl::string_view bytes);
  void ReadSnapshot();

  std::string head_;  // first bytes as they came
  std::optional<bool> packed_;
  Kind kind_ = Kind::kUnknown;
  std::string begin_;  // first bytes, unpacked, until the kind is known
  std::unique_ptr<Inflater> inflater_;
  std::string pickle_;  // a snapshot is read as a whole
  MemorySnapshot snapshot_;
  std::string snapshot_fault_;
  EventFileReader events_;
  TraceReader trace_;
  LineSplitter splitter_;
  RunLogReader reader_;
  uint64_t bytes_ = 0;  // unpacked
};

// What is read, and what to say about it.
struct RunRead {
  RunLog log;
  TraceSummary trace;       // of the first rank's that is there
  MemorySnapshot snapshot;  // of the rank with the highest peak
  size_t files = 0;
  std::vector<std::string> faults;  // "run.log.gz: damaged: what follows was not read"
};

// Whether to go on, asked now and then.
using KeepReading = std::function<bool(const RunLogReader&)>;

// All files from their start to their present end. INVALID_ARGUMENT: one of them cannot be opened.
absl::StatusOr<RunRead> ReadRun(const std::vector<std::string>& paths, const KeepReading& keep);

// One file that is still written: goes on behind its end until the run says that it is done, `keep` says no, or nothing
// was added for `idle_seconds`. A file that was cut off (a new run in the same place) is read from its start again.
absl::StatusOr<RunRead> FollowRun(const std::string& path, double idle_seconds, const KeepReading& keep);

}  // namespace flightplan::cli
