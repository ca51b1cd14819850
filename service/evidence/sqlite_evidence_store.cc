#include "service/evidence/sqlite_evidence_store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "resolver/evidence/snapshot.h"

namespace flightplan::service {
namespace {

constexpr int kApplicationId = 0x464c5450;  // "FLTP": tells our files from other programs'
constexpr int kBusyTimeoutMs = 5000;
constexpr std::chrono::milliseconds kPollEvery{250};

// One step brings the schema from its version to the next; user_version counts the steps taken.
constexpr const char* kMigrations[] = {
    R"(CREATE TABLE state (
         only INTEGER PRIMARY KEY CHECK (only = 1),
         revision INTEGER NOT NULL,          -- counts changes
         removed_revision INTEGER NOT NULL,  -- of the latest change that took entries out
         erased_revision INTEGER NOT NULL);  -- before it, entries are gone for good
       INSERT INTO state VALUES (1, 1, 0, 0);
       CREATE TABLE measurements (
         id TEXT PRIMARY KEY,
         revision INTEGER NOT NULL,
         removed_revision INTEGER,
         digest TEXT NOT NULL,
         gpu TEXT NOT NULL, model TEXT NOT NULL, metric TEXT NOT NULL, tenant TEXT NOT NULL,
         received_us INTEGER NOT NULL,
         content BLOB NOT NULL) WITHOUT ROWID;
       CREATE INDEX measurements_by_revision ON measurements (revision);)",
};
constexpr int kSchemaVersion = static_cast<int>(std::size(kMigrations));

// A prepared statement; bound in order, columns read in order.
class Statement {
 public:
  Statement(sqlite3* db, const char* sql) { sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& Bind(int64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, value);
    return *this;
  }
  Statement& Bind(const std::string& value) {
    sqlite3_bind_text(statement_, ++bound_, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& BindBlob(const std::string& value) {
    sqlite3_bind_blob(statement_, ++bound_, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
    return *this;
  }
  // SQLITE_ROW, SQLITE_DONE or an error; SQLITE_MISUSE when the statement could not be prepared.
  int Step() { return statement_ == nullptr ? SQLITE_MISUSE : sqlite3_step(statement_); }
  void Reset() {
    sqlite3_reset(statement_);
    bound_ = 0;
  }
  int64_t Integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string Text(int column) const {
    const void* data = sqlite3_column_blob(statement_, column);
    const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
    return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), size);
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

class SqliteEvidenceStore final : public EvidenceStore {
 public:
  SqliteEvidenceStore(std::string path, sqlite3* db) : path_(std::move(path)), db_(db) {}
  ~SqliteEvidenceStore() override { sqlite3_close_v2(db_); }

  absl::Status Prepare() {
    sqlite3_busy_timeout(db_, kBusyTimeoutMs);
    // A commit returns when its log frame is on the disk: what was acknowledged survives a loss of power.
    FLIGHTPLAN_RETURN_IF_ERROR(Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON"));
    return InTransaction("BEGIN IMMEDIATE", [this] { return Migrate(); });
  }

  absl::StatusOr<std::vector<AddOutcome>> Add(absl::Span<const EvidenceRecord> records) override {
    std::vector<AddOutcome> outcomes;
    FLIGHTPLAN_RETURN_IF_ERROR(InTransaction("BEGIN IMMEDIATE", [&] { return AddAll(records, &outcomes); }));
    return outcomes;
  }

  absl::StatusOr<EvidenceChanges> ReadChanges(int64_t revision, const Each& each) override {
    EvidenceChanges changes;
    FLIGHTPLAN_RETURN_IF_ERROR(InTransaction("BEGIN", [&]() -> absl::Status {
      FLIGHTPLAN_ASSIGN_OR_RETURN(const State state, ReadState());
      changes.revision = state.revision;
      // A revision of the future: the file was put back from a copy.
      changes.reset = state.removed_revision > revision || state.revision < revision;
      if (changes.revision == revision && !changes.reset) return absl::OkStatus();
      return ReadRecords(
          "SELECT id, revision, digest, gpu, model, metric, tenant, received_us, content FROM measurements "
          "WHERE revision > ?1 AND removed_revision IS NULL ORDER BY revision",
          {changes.reset ? 0 : revision}, each);
    }));
    return changes;
  }

  absl::StatusOr<std::vector<EvidenceRecord>> AsOf(int64_t revision) override {
    std::vector<EvidenceRecord> records;
    FLIGHTPLAN_RETURN_IF_ERROR(InTransaction("BEGIN", [&]() -> absl::Status {
      FLIGHTPLAN_ASSIGN_OR_RETURN(const State state, ReadState());
      if (revision > state.revision || revision < state.erased_revision) {
        return absl::FailedPreconditionError(absl::StrCat("revision ", revision, " of the evidence is not there; the ",
                                                          "store has ", std::max<int64_t>(1, state.erased_revision),
                                                          " to ", state.revision));
      }
      return ReadRecords(
          "SELECT id, revision, digest, gpu, model, metric, tenant, received_us, content FROM measurements "
          "WHERE revision <= ?1 AND (removed_revision IS NULL OR removed_revision > ?2) ORDER BY revision",
          {revision, revision}, [&](EvidenceRecord record) { records.push_back(std::move(record)); });
    }));
    return records;
  }

  absl::StatusOr<int64_t> Prune(const PruneFilter& filter) override {
    int64_t removed = 0;
    const absl::Status done = InTransaction("BEGIN IMMEDIATE", [&]() -> absl::Status {
      FLIGHTPLAN_ASSIGN_OR_RETURN(const State state, ReadState());
      const int64_t next = state.revision + 1;
      FLIGHTPLAN_RETURN_IF_ERROR(
          OnEach(filter, next,
                 absl::StrCat("UPDATE measurements SET removed_revision = ?1 WHERE removed_revision IS NULL",
                              Matching(filter)),
                 &removed));
      if (removed == 0) return absl::OkStatus();
      Statement bump(db_, "UPDATE state SET revision = ?1, removed_revision = ?1");
      return bump.Bind(next).Step() == SQLITE_DONE ? absl::OkStatus() : Failed("prune");
    });
    if (!done.ok()) return done;
    return removed;
  }

  absl::StatusOr<int64_t> Erase(const PruneFilter& filter) override {
    int64_t erased = 0, marked = 0;
    const absl::Status done = InTransaction("BEGIN IMMEDIATE", [&]() -> absl::Status {
      const std::string gone = absl::StrCat("FROM measurements WHERE removed_revision IS NOT NULL", Matching(filter));
      FLIGHTPLAN_RETURN_IF_ERROR(
          OnEach(filter, 0,
                 absl::StrCat("UPDATE state SET erased_revision = max(erased_revision, coalesce((SELECT "
                              "max(removed_revision) ",
                              gone, "), 0))"),
                 &marked));
      return OnEach(filter, 0, absl::StrCat("DELETE ", gone), &erased);
    });
    if (!done.ok()) return done;
    return erased;
  }

  // SQLite tells no one of a commit in another process; data_version changes with it and costs a read of one page.
  absl::Status WaitForChange(absl::Duration most) override {
    const auto until = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(most);
    for (;;) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t now, QueryInteger("PRAGMA data_version"));
      if (now != data_version_ || std::chrono::steady_clock::now() >= until) {
        data_version_ = now;
        return absl::OkStatus();
      }
      std::this_thread::sleep_for(kPollEvery);
    }
  }

 private:
  struct State {
    int64_t revision = 0, removed_revision = 0, erased_revision = 0;
  };

  absl::Status Failed(absl::string_view what) const {
    return absl::UnavailableError(absl::StrCat("evidence store ", path_, ": ", what, ": ", sqlite3_errmsg(db_)));
  }

  // Further conditions of a WHERE, of what OnEach binds.
  static std::string Matching(const PruneFilter& filter) {
    std::string sql;
    if (filter.received_before_us != 0) sql += " AND received_us < ?2";
    if (!filter.gpu.empty()) sql += " AND gpu = ?3";
    if (!filter.model.empty()) sql += " AND model = ?4";
    if (!filter.tenant.empty()) sql += " AND tenant = ?5";
    if (!filter.ids.empty()) sql += " AND id = ?6";
    return sql;
  }

  // Once for each id of the filter; `revision` is ?1.
  absl::Status OnEach(const PruneFilter& filter, int64_t revision, const std::string& sql, int64_t* changed) {
    const std::vector<std::string> any = {""};
    for (const std::string& id : filter.ids.empty() ? any : filter.ids) {
      Statement statement(db_, sql.c_str());
      statement.Bind(revision).Bind(filter.received_before_us).Bind(filter.gpu).Bind(filter.model).Bind(filter.tenant);
      statement.Bind(id);
      if (statement.Step() != SQLITE_DONE) return Failed("prune");
      *changed += sqlite3_changes(db_);
    }
    return absl::OkStatus();
  }

  absl::Status Execute(const char* sql) {
    return sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK ? absl::OkStatus() : Failed("SQL");
  }

  absl::StatusOr<int64_t> QueryInteger(const char* sql) {
    Statement query(db_, sql);
    if (query.Step() != SQLITE_ROW) return Failed(sql);
    return query.Integer(0);
  }

  template <class Body>
  absl::Status InTransaction(const char* begin, Body body) {
    FLIGHTPLAN_RETURN_IF_ERROR(Execute(begin));
    absl::Status status = body();
    if (status.ok()) status = Execute("COMMIT");
    if (!status.ok()) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    return status;
  }

  absl::Status Migrate() {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t owner, QueryInteger("PRAGMA application_id"));
    FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t version, QueryInteger("PRAGMA user_version"));
    FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t tables, QueryInteger("SELECT count(*) FROM sqlite_master"));
    if (owner != kApplicationId && (owner != 0 || tables != 0)) {
      return absl::FailedPreconditionError(absl::StrCat(path_, " is a database of another program"));
    }
    if (version > kSchemaVersion) {
      return absl::FailedPreconditionError(absl::StrCat(path_, " has schema ", version, ", this program knows up to ",
                                                        kSchemaVersion, "; run a newer flightplan"));
    }
    if (version == kSchemaVersion) return absl::OkStatus();
    for (int64_t step = version; step < kSchemaVersion; ++step) {
      FLIGHTPLAN_RETURN_IF_ERROR(Execute(kMigrations[step]));
    }
    return Execute(
        absl::StrCat("PRAGMA application_id=", kApplicationId, "; PRAGMA user_version=", kSchemaVersion).c_str());
  }

  absl::StatusOr<State> ReadState() {
    Statement query(db_, "SELECT revision, removed_revision, erased_revision FROM state");
    if (query.Step() != SQLITE_ROW) return Failed("read of the state");
    return State{query.Integer(0), query.Integer(1), query.Integer(2)};
  }

  absl::Status ReadRecords(const char* sql, const std::vector<int64_t>& arguments, const Each& each) {
    Statement query(db_, sql);
    for (int64_t argument : arguments) query.Bind(argument);
    int step = 0;
    while ((step = query.Step()) == SQLITE_ROW) {
      EvidenceRecord record;
      record.id = query.Text(0);
      record.revision = query.Integer(1);
      record.digest = query.Text(2);
      record.gpu = query.Text(3);
      record.model = query.Text(4);
      record.metric = query.Text(5);
      record.tenant = query.Text(6);
      record.received_us = query.Integer(7);
      record.content = query.Text(8);
      each(std::move(record));
    }
    return step == SQLITE_DONE ? absl::OkStatus() : Failed("read");
  }

  absl::Status AddAll(absl::Span<const EvidenceRecord> records, std::vector<AddOutcome>* outcomes) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const State state, ReadState());
    int64_t revision = state.revision;
    Statement find(db_, "SELECT digest, revision, coalesce(removed_revision, 0) FROM measurements WHERE id = ?1");
    Statement insert(
        db_,
        "INSERT INTO measurements (id, revision, digest, gpu, model, metric, tenant, received_us, content) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
    for (const EvidenceRecord& record : records) {
      find.Reset();
      const int found = find.Bind(record.id).Step();
      if (found == SQLITE_ROW) {
        outcomes->push_back({find.Text(0) == record.digest ? AddResult::kSame : AddResult::kConflict, find.Integer(1),
                             find.Integer(2) != 0});
        continue;
      }
      if (found != SQLITE_DONE) return Failed("look-up");
      insert.Reset();
      insert.Bind(record.id).Bind(++revision).Bind(record.digest).Bind(record.gpu).Bind(record.model);
      insert.Bind(record.metric).Bind(record.tenant).Bind(record.received_us).BindBlob(record.content);
      if (insert.Step() != SQLITE_DONE) return Failed("insert");
      outcomes->push_back({AddResult::kAdded, revision});
    }
    if (revision == state.revision) return absl::OkStatus();
    Statement bump(db_, "UPDATE state SET revision = ?1");
    return bump.Bind(revision).Step() == SQLITE_DONE ? absl::OkStatus() : Failed("insert");
  }

  const std::string path_;
  sqlite3* const db_;
  int64_t data_version_ = -1;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EvidenceStore>> OpenSqliteEvidenceStore(const std::string& path, IfMissing missing) {
  if (missing == IfMissing::kRefuse && ::access(path.c_str(), F_OK) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("evidence store ", path, ": ", std::strerror(errno),
                                                      "; `flightplan serve` and `evidence import` make one"));
  }
  // Made by us and not by SQLite, which would let everyone read it. Never opened when it is there already: closing a
  // descriptor of the file would drop the locks that this process's other connections hold on it.
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno != EEXIST) {
    return absl::UnavailableError(absl::StrCat("evidence store ", path, ": ", std::strerror(errno)));
  }
  if (fd >= 0) ::close(fd);
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  auto store = std::make_unique<SqliteEvidenceStore>(path, db);
  if (code != SQLITE_OK) {
    return absl::UnavailableError(absl::StrCat("evidence store ", path, ": ", sqlite3_errstr(code)));
  }
  FLIGHTPLAN_RETURN_IF_ERROR(store->Prepare());
  return store;
}

}  // namespace flightplan::service
