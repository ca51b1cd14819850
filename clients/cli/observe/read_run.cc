#include "clients/cli/observe/read_run.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clients/cli/observe/nsys_report.h"
#include "resolver/base/status_macros.h"
#include "resolver/runlog/pickle.h"
#include "service/local/input_file.h"

namespace flightplan::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = size_t{1} << 18;
constexpr size_t kHeadBytes = 16;  // that show what a file is
constexpr absl::string_view kSqliteHead("SQLite format 3\0", 16);
constexpr absl::string_view kNsysReport = ".nsys-rep";
constexpr int64_t kMostRank = int64_t{1} << 24;
constexpr auto kPoll = std::chrono::milliseconds(200);

bool LooksLikeRunOutput(absl::string_view name) {
  absl::ConsumeSuffix(&name, ".gz");
  if (absl::StrContains(name, "tfevents")) return true;
  if (absl::StrContains(name, "trace") && absl::EndsWith(name, ".json")) return true;
  if (absl::StrContains(name, "snapshot") && absl::EndsWith(name, ".pickle")) return true;
  if (name == "stdout" || name == "stderr") return true;
  constexpr absl::string_view kEnds[] = {".log", ".out", ".err", ".txt", ".csv", ".sqlite", kNsysReport};
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [name](absl::string_view end) { return absl::EndsWith(name, end); });
}

absl::Status AddFolder(const fs::path& folder, std::vector<std::string>* paths) {
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    if (entries.depth() >= kDeepestRunFolder) entries.disable_recursion_pending();
    std::error_code kind;
    if (entries->symlink_status(kind).type() != fs::file_type::regular || kind) continue;
    if (!LooksLikeRunOutput(entries->path().filename().string())) continue;
    if (paths->size() >= kMostRunFiles) {
      return absl::InvalidArgumentError(
          absl::StrCat(folder.string(), " holds more than ", kMostRunFiles, " logs; name a folder of one run"));
    }
    paths->push_back(entries->path().string());
  }
  if (error) return absl::InvalidArgumentError(absl::StrCat("cannot read ", folder.string(), ": ", error.message()));
  return absl::OkStatus();
}

std::string FileName(const std::string& path) {
  return path == "-" ? "standard input" : fs::path(path).filename().string();
}

void AddFault(const std::string& path, const RunFileReader& reader, RunRead* read) {
  if (const std::string fault = reader.fault(); !fault.empty()) {
    read->faults.push_back(absl::StrCat(FileName(path), ": ", fault));
  }
}

// The rank that Megatron writes into a snapshot's name: "snapshot_3.pickle", "snapshot_oom_rank_3.pickle". -1: none.
int64_t RankOfSnapshot(const std::string& path) {
  absl::string_view name = path;
  absl::ConsumeSuffix(&name, ".gz");
  absl::ConsumeSuffix(&name, ".pickle");
  const size_t digits = name.size() - std::min(name.size(), name.find_last_not_of("0123456789") + 1);
  int64_t rank = -1;
  const bool marked = digits > 0 && digits < name.size() && absl::StrContains("_-k", name[name.size() - digits - 1]);
  return marked && absl::SimpleAtoi(name.substr(name.size() - digits), &rank) && rank < kMostRank ? rank : -1;
}

// What PyTorch's allocator held is what a report of its rank would say.
void TakeSnapshot(const std::string& path, const MemorySnapshot& snapshot, RunRead* read) {
  if (!snapshot.any()) return;
  RunLog log;
  const int64_t rank = RankOfSnapshot(path);
  MemoryReport& report = log.ranks[rank];
  report.rank = rank;
  if (snapshot.out_of_memory == 0) report.allocated = snapshot.allocated;  // else not between two steps
  report.max_allocated = snapshot.peak;
  report.reserved = snapshot.reserved;
  log.out_of_memory = snapshot.out_of_memory;
  Merge(log, &read->log);
  if (std::max(snapshot.peak, snapshot.allocated) > std::max(read->snapshot.peak, read->snapshot.allocated)) {
    read->snapshot = snapshot;
    read->snapshot.rank = rank;
  }
}

bool IsSqliteFile(absl::string_view begin) { return absl::StartsWith(begin, kSqliteHead); }

// Reads the file where it is one of Nsight Systems, which no reader of pieces can; false: it is none.
bool TakeNsysReport(const std::string& path, absl::string_view begin, RunRead* read) {
  if (path == "-" || (!IsSqliteFile(begin) && !absl::EndsWith(path, kNsysReport))) return false;
  ++read->files;
  if (!IsSqliteFile(begin)) {
    read->faults.push_back(absl::StrCat(FileName(path), ": not read; convert it by `nsys export --type sqlite ",
                                        FileName(path), "`, and name the file"));
    return true;
  }
  absl::StatusOr<NsysReport> report = ReadNsysReport(path);
  if (!report.ok()) {
    read->faults.push_back(absl::StrCat(FileName(path), ": not read: ", report.status().message()));
    return true;
  }
  for (const std::string& part : report->not_read) read->faults.push_back(absl::StrCat(FileName(path), ": ", part));
  if (!read->trace.any()) read->trace = std::move(report->work);
  return true;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> RunFiles(const std::string& path) {
  std::error_code error;
  std::vector<std::string> paths;
  if (path != "-" && fs::is_character_file(path, error)) {  // it never ends
    return absl::InvalidArgumentError(absl::StrCat(path, " is a device, not a file"));
  }
  if (path == "-" || !fs::is_directory(path, error)) {
    paths.push_back(path);
    return paths;
  }
  FLIGHTPLAN_RETURN_IF_ERROR(AddFolder(path, &paths));
  if (paths.empty()) return absl::InvalidArgumentError(absl::StrCat(path, " holds no logs and no event files"));
  std::sort(paths.begin(), paths.end());
  return paths;
}

RunFileReader::Kind RunFileReader::KindOf(absl::string_view begin) {
  if (IsSqliteFile(begin)) return Kind::kDatabase;
  if (Pickle::Recognises(begin)) return Kind::kSnapshot;
  if (EventFileReader::Recognises(begin)) return Kind::kEvents;
  return TraceReader::Recognises(begin) ? Kind::kTrace : Kind::kText;
}

bool RunFileReader::Shows(absl::string_view begin) {
  const bool json = absl::StartsWith(absl::StripLeadingAsciiWhitespace(begin), "{");
  return begin.size() >= (json ? TraceReader::kHeadBytes : kHeadBytes);
}

void RunFileReader::Take(absl::string_view bytes) {
  if (kind_ == Kind::kDatabase) return;
  if (kind_ == Kind::kSnapshot) {
    if (pickle_.size() <= Pickle::kMostBytes) pickle_.append(bytes.data(), bytes.size());
    return;
  }
  if (kind_ == Kind::kEvents) return events_.Push(bytes);
  if (kind_ == Kind::kTrace) return trace_.Push(bytes);
  splitter_.Push(bytes, [this](absl::string_view line, bool complete) { reader_.Add(line, complete); });
}

void RunFileReader::TakeUnpacked(absl::string_view bytes) {
  bytes_ += bytes.size();
  if (full()) return;
  if (kind_ != Kind::kUnknown) return Take(bytes);
  begin_.append(bytes.data(), bytes.size());
  if (!Shows(begin_)) return;
  kind_ = KindOf(begin_);
  Take(std::exchange(begin_, std::string()));
}

void RunFileReader::Push(absl::string_view bytes) {
  if (!packed_.has_value()) {
    head_.append(bytes.data(), bytes.size());
    if (head_.size() < kHeadBytes) return;
    packed_ = Inflater::Recognises(head_);
    if (*packed_) inflater_ = std::make_unique<Inflater>();
    return Push(std::exchange(head_, std::string()));
  }
  if (!*packed_) return TakeUnpacked(bytes);
  inflater_->Push(bytes, [this](absl::string_view text) { TakeUnpacked(text); });
}

void RunFileReader::Finish() {
  if (!packed_.has_value()) TakeUnpacked(std::exchange(head_, std::string()));
  if (kind_ == Kind::kUnknown) {
    kind_ = KindOf(begin_);
    Take(std::exchange(begin_, std::string()));
  }
  if (kind_ == Kind::kSnapshot) ReadSnapshot();
  splitter_.Finish([this](absl::string_view line, bool complete) { reader_.Add(line, complete); });
}

void RunFileReader::ReadSnapshot() {
  absl::StatusOr<MemorySnapshot> snapshot = ReadMemorySnapshot(pickle_);
  if (snapshot.ok()) {
    snapshot_ = *std::move(snapshot);
  } else {
    snapshot_fault_ = absl::StrCat("not read: ", snapshot.status().message());
  }
  pickle_ = std::string();
}

RunLog RunFileReader::Log() {
  RunLog log = kind_ == Kind::kEvents ? events_.Log() : reader_.Log();
  log.bytes = splitter_.bytes();
  log.cut_lines = splitter_.cut_lines();
  return log;
}

std::string RunFileReader::fault() const {
  if (kind_ == Kind::kDatabase) return "an SQLite file is read only as it is: unpack it, and name the file";
  if (inflater_ != nullptr && inflater_->broken()) return "damaged: what follows was not read";
  if (!snapshot_fault_.empty()) return snapshot_fault_;
  if (events_.broken()) return "a record's checksum is wrong: what follows was not read";
  if (trace_.full()) return absl::StrCat("more than ", TraceReader::kMostKernels, " kernels: the rest was not read");
  if (full()) return absl::StrCat("larger than ", kMostRunBytes >> 30, " GiB: the rest was not read");
  if (splitter_.cut_lines() > 0) {
    return absl::StrCat(splitter_.cut_lines(), " lines longer than ", LineSplitter::kMaxLineBytes / 1024,
                        " KiB: their rest was not read");
  }
  return "";
}

absl::StatusOr<RunRead> ReadRun(const std::vector<std::string>& paths, const KeepReading& keep) {
  RunRead read;
  std::string piece(kPieceBytes, '\0');
  for (const std::string& path : paths) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(service::InputFile file, service::InputFile::Open(path));
    RunFileReader reader;
    FLIGHTPLAN_ASSIGN_OR_RETURN(size_t count, file.Read(piece.data(), piece.size()));
    if (TakeNsysReport(path, absl::string_view(piece.data(), count), &read)) continue;
    while (count > 0 && !reader.full() && keep(reader.reader())) {
      reader.Push(absl::string_view(piece.data(), count));
      FLIGHTPLAN_ASSIGN_OR_RETURN(count, file.Read(piece.data(), piece.size()));
    }
    reader.Finish();
    AddFault(path, reader, &read);
    Merge(reader.Log(), &read.log);
    TakeSnapshot(path, reader.Snapshot(), &read);
    if (!read.trace.any()) read.trace = reader.Trace();
    ++read.files;
  }
  return read;
}

absl::StatusOr<RunRead> FollowRun(const std::string& path, double idle_seconds, const KeepReading& keep) {
  RunRead read;
  read.files = 1;
  std::string piece(kPieceBytes, '\0');
  auto last_growth = std::chrono::steady_clock::now();
  for (;;) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(service::InputFile file, service::InputFile::Open(path));
    RunFileReader reader;
    uintmax_t taken = 0;
    bool again = false, stop = false;
    while (!again && !stop) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(const size_t count, file.Read(piece.data(), piece.size()));
      stop = reader.full() || !keep(reader.reader());
      if (count > 0) {
        reader.Push(absl::string_view(piece.data(), count));
        taken += count;
        last_growth = std::chrono::steady_clock::now();
        continue;
      }
      const std::chrono::duration<double> idle = std::chrono::steady_clock::now() - last_growth;
      stop = stop || reader.reader().finished() || idle.count() > idle_seconds;
      std::error_code error;
      const uintmax_t size = path == "-" ? taken : fs::file_size(path, error);
      again = !stop && !error && size < taken;
      stop = stop || path == "-";
      if (!stop && !again) std::this_thread::sleep_for(kPoll);
    }
    reader.Finish();
    Merge(reader.Log(), &read.log);
    AddFault(path, reader, &read);
    if (stop) return read;
  }
}

}  // namespace flightplan::cli
