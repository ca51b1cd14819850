#include "clients/cli/observe/nsys_report.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/base/status_macros.h"

namespace flightplan::cli {
namespace {

// Tables and columns as the export documents them, which makes a table only where it has rows:
// https://docs.nvidia.com/nsight-systems/2021.5/nsys-exporter/exported_data.html.
constexpr char kKernels[] = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr char kGraphs[] = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";  // graphs as a whole: --cuda-graph-trace=graph
constexpr char kCopies[] = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr char kFills[] = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr char kNames[] = "StringIds";
constexpr const char* kTables[] = {kKernels, kGraphs, kCopies, kFills, kNames, "sqlite_master"};

constexpr size_t kMostKernels = size_t{4} << 20;
constexpr size_t kMostGpus = 4096;
constexpr size_t kMostNames = size_t{1} << 20;
constexpr int kLongestValue = 1 << 24;
constexpr int kStepsBetweenChecks = 1 << 16;
constexpr int kMostChecks = 1 << 15;                                    // some 2 * 10^9 steps of SQLite's machine
constexpr int64_t kLongestNs = int64_t{7} * 24 * 3600 * 1'000'000'000;  // a week

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

// One process on one GPU: several may share a report, and each numbers its GPUs itself.
struct Gpu {
  int64_t process = 0, device = 0;
  bool operator<(const Gpu& other) const { return std::tie(device, process) < std::tie(other.device, other.process); }
  bool operator==(const Gpu& other) const { return device == other.device && process == other.process; }
};

// The file's own SQL may do nothing but be read: views, triggers, functions and statements that change are refused.
int Authorize(void* /*unused*/, int action, const char* table, const char* /*column*/, const char* /*database*/,
              const char* /*view*/) {
  if (action == SQLITE_SELECT) return SQLITE_OK;
  if (action != SQLITE_READ || table == nullptr) return SQLITE_DENY;
  const absl::string_view name(table);
  return std::any_of(std::begin(kTables), std::end(kTables), [name](const char* known) { return name == known; })
             ? SQLITE_OK
             : SQLITE_DENY;
}

std::string FileUri(const std::string& path) {
  std::string uri = "file:";
  for (const char byte : path) {
    if (absl::StrContains("%?#", byte)) {
      absl::StrAppend(&uri, absl::StrFormat("%%%02X", byte));
    } else {
      uri += byte;
    }
  }
  return absl::StrCat(uri, "?mode=ro&immutable=1");
}

class Reader {
 public:
  absl::StatusOr<NsysReport> Read(const std::string& path) {
    FLIGHTPLAN_RETURN_IF_ERROR(Open(path));
    FLIGHTPLAN_ASSIGN_OR_RETURN(const bool kernels, Has(kKernels));
    FLIGHTPLAN_ASSIGN_OR_RETURN(const bool graphs, Has(kGraphs));
    FLIGHTPLAN_ASSIGN_OR_RETURN(const bool names, Has(kNames));
    if (!names) return absl::InvalidArgumentError("an SQLite file, but no report of Nsight Systems");
    if (!kernels && !graphs) return absl::InvalidArgumentError("a report of Nsight Systems without any kernel");
    if (kernels) FLIGHTPLAN_RETURN_IF_ERROR(Count(kKernels));
    if (graphs) FLIGHTPLAN_RETURN_IF_ERROR(Count(kGraphs));
    Choose();
    if (kernels) FLIGHTPLAN_RETURN_IF_ERROR(Take(kKernels));
    if (graphs) FLIGHTPLAN_RETURN_IF_ERROR(Take(kGraphs));
    for (const char* table : {kCopies, kFills}) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(const bool there, Has(table));
      if (there) FLIGHTPLAN_RETURN_IF_ERROR(Take(table));
    }
    return Report();
  }

 private:
  absl::Status Open(const std::string& path) {
    sqlite3* db = nullptr;
    const int code = sqlite3_open_v2(FileUri(path).c_str(), &db,
                                     SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
    db_.reset(db);
    if (code != SQLITE_OK) return Fault(code);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kLongestValue);
    sqlite3_progress_handler(
        db, kStepsBetweenChecks, [](void* self) { return ++static_cast<Reader*>(self)->checks_ > kMostChecks ? 1 : 0; },
        this);
    sqlite3_exec(db, "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr);
    sqlite3_set_authorizer(db, &Authorize, nullptr);
    return absl::OkStatus();
  }

  static absl::Status Fault(int code) {
    if (code == SQLITE_INTERRUPT) return absl::InvalidArgumentError("too large a report of Nsight Systems");
    return absl::InvalidArgumentError(absl::StrCat("SQLite: ", sqlite3_errstr(code)));
  }

  absl::StatusOr<Statement> Prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &statement, nullptr);
    if (code == SQLITE_ERROR) return absl::InvalidArgumentError("its tables are not those of Nsight Systems' export");
    if (code != SQLITE_OK) return Fault(code);
    return Statement(statement);
  }

  // A real table of that name: a view or a virtual table has no page of its own.
  absl::StatusOr<bool> Has(const std::string& table) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const Statement row, Prepare("SELECT type, name, rootpage FROM sqlite_master"));
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(row.get())) == SQLITE_ROW) {
      if (Text(row.get(), 0) == "table" && Text(row.get(), 1) == table && sqlite3_column_int64(row.get(), 2) > 0) {
        return true;
      }
    }
    if (code != SQLITE_DONE) return Fault(code);
    return false;
  }

  static absl::string_view Text(sqlite3_stmt* row, int column) {
    const unsigned char* const text = sqlite3_column_text(row, column);
    if (text == nullptr) return "";
    return {reinterpret_cast<const char*>(text), static_cast<size_t>(sqlite3_column_bytes(row, column))};
  }

  absl::Status Count(const std::string& table) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const Statement row, Prepare(absl::StrCat("SELECT globalPid, deviceId FROM ", table)));
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(row.get())) == SQLITE_ROW) {
      const Gpu gpu = {sqlite3_column_int64(row.get(), 0), sqlite3_column_int64(row.get(), 1)};
      if (gpus_.size() < kMostGpus || gpus_.contains(gpu)) ++gpus_[gpu];
    }
    return code == SQLITE_DONE ? absl::OkStatus() : Fault(code);
  }

  void Choose() {
    int64_t most = 0;
    for (const auto& [gpu, count] : gpus_) {
      if (count <= most) continue;
      most = count;
      chosen_ = gpu;
    }
  }

  absl::Status Take(const std::string& table) {
    const bool named = table == kKernels;
    FLIGHTPLAN_ASSIGN_OR_RETURN(const Statement row,
                                Prepare(absl::StrCat("SELECT start, \"end\", globalPid, deviceId",
                                                     named ? ", demangledName" : "", " FROM ", table)));
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(row.get())) == SQLITE_ROW) {
      if (!(Gpu{sqlite3_column_int64(row.get(), 2), sqlite3_column_int64(row.get(), 3)} == chosen_)) continue;
      const int64_t start = sqlite3_column_int64(row.get(), 0), end = sqlite3_column_int64(row.get(), 1);
      if (start < 0 || end < start || end - start > kLongestNs) continue;
      if (spans_.size() >= kMostKernels) {
        full_ = true;
        return absl::OkStatus();
      }
      GpuWork work = table == kGraphs ? GpuWork::kCompute : GpuWork::kOther;
      if (named) {
        FLIGHTPLAN_ASSIGN_OR_RETURN(work, WorkOfName(sqlite3_column_int64(row.get(), 4)));
      }
      graphs_ += table == kGraphs ? 1 : 0;
      if (!base_.has_value()) base_ = start;
      const double begin = static_cast<double>(start - *base_) / 1e3;
      spans_.push_back({begin, begin + static_cast<double>(end - start) / 1e3, work});
    }
    return code == SQLITE_DONE ? absl::OkStatus() : Fault(code);
  }

  // Kernels share their names, so each is looked up once.
  absl::StatusOr<GpuWork> WorkOfName(int64_t id) {
    if (const auto known = works_.find(id); known != works_.end()) return known->second;
    if (name_ == nullptr) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(name_, Prepare(absl::StrCat("SELECT value FROM ", kNames, " WHERE id = ?1")));
    }
    sqlite3_reset(name_.get());
    sqlite3_bind_int64(name_.get(), 1, id);
    const int code = sqlite3_step(name_.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE) return Fault(code);
    const GpuWork work = code == SQLITE_ROW ? WorkOf(Text(name_.get(), 0), "", "") : GpuWork::kCompute;
    if (works_.size() < kMostNames) works_[id] = work;
    return work;
  }

  NsysReport Report() {
    NsysReport report;
    report.work = SummaryOf(spans_);
    report.work.full = full_;
    if (full_) report.not_read.push_back(absl::StrCat("what follows ", kMostKernels, " kernels"));
    if (gpus_.size() > 1) {
      report.not_read.push_back(
          absl::StrCat(gpus_.size() - 1, gpus_.size() > 2 ? " other GPUs" : " other GPU", " of the report"));
    }
    if (graphs_ > 0) {
      report.not_read.push_back(absl::StrCat("communication in ", graphs_,
                                             " launches of CUDA graphs, which count as compute: record with "
                                             "--cuda-graph-trace=node"));
    }
    return report;
  }

  std::unique_ptr<sqlite3, CloseDatabase> db_;
  Statement name_;  // behind db_: finalized before it is closed
  int checks_ = 0;
  std::map<Gpu, int64_t> gpus_;  // kernels of each
  Gpu chosen_;
  std::map<int64_t, GpuWork> works_;  // by name's id
  std::optional<int64_t> base_;       // first start: times are kept as doubles
  std::vector<GpuSpan> spans_;
  int64_t graphs_ = 0;
  bool full_ = false;
};

}  // namespace

absl::StatusOr<NsysReport> ReadNsysReport(const std::string& path) { return Reader().Read(path); }

}  // namespace flightplan::cli
