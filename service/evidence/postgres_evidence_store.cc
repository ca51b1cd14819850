#include "service/evidence/postgres_evidence_store.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "service/evidence/postgres_connection.h"

namespace flightplan::service {
namespace {

constexpr absl::Duration kStatementLimit = absl::Seconds(5);
constexpr size_t kFetchBytes = size_t{1} << 20;
// Of replicas that start at the same time, one brings the schema up to date and the others wait for it.
constexpr char kMigrationLock[] = "SELECT pg_advisory_xact_lock(5065139418)";

// One step brings the schema from its version to the next.
constexpr const char* kMigrations[] = {
    R"(CREATE TABLE flightplan_evidence_state (
         only_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row),
         revision BIGINT NOT NULL,          -- counts changes
         removed_revision BIGINT NOT NULL,  -- of the latest change that took entries out
         erased_revision BIGINT NOT NULL);  -- before it, entries are gone for good
       INSERT INTO flightplan_evidence_state VALUES (TRUE, 1, 0, 0);
       CREATE TABLE flightplan_measurements (
         id TEXT PRIMARY KEY,
         revision BIGINT NOT NULL,
         removed_revision BIGINT,
         digest TEXT NOT NULL,
         gpu TEXT NOT NULL, model TEXT NOT NULL, metric TEXT NOT NULL, tenant TEXT NOT NULL,
         received_us BIGINT NOT NULL,
         content BYTEA NOT NULL);
       CREATE INDEX flightplan_measurements_by_revision ON flightplan_measurements (revision);)",
};
constexpr int64_t kSchemaVersion = std::size(kMigrations);

constexpr char kColumns[] =
    "SELECT id, revision, digest, gpu, model, metric, tenant, received_us, content "
    "FROM flightplan_measurements ";

// Further conditions of a WHERE: those of a PruneFilter that are set.
constexpr char kMatching[] =
    " AND ($1::bigint = 0 OR received_us < $1) AND ($2::text = '' OR gpu = $2) AND ($3::text = '' OR model = $3) "
    "AND ($4::text = '' OR tenant = $4) AND ($5::text = '' OR id = $5)";

class PostgresEvidenceStore final : public EvidenceStore {
 public:
  explicit PostgresEvidenceStore(std::unique_ptr<PgConnection> pg) : pg_(std::move(pg)) {}

  absl::Status Prepare() {
    return InTransaction("BEGIN", [this]() -> absl::Status {
      FLIGHTPLAN_RETURN_IF_ERROR(pg_->Query(kMigrationLock).status());
      FLIGHTPLAN_RETURN_IF_ERROR(
          pg_->Execute("CREATE TABLE IF NOT EXISTS flightplan_schema (version BIGINT PRIMARY KEY, "
                       "applied_at TIMESTAMPTZ NOT NULL DEFAULT now())"));
      FLIGHTPLAN_ASSIGN_OR_RETURN(const PgResult found,
                                  pg_->Query("SELECT coalesce(max(version), 0) FROM flightplan_schema"));
      const int64_t version = found.Integer(0, 0);
      if (version > kSchemaVersion) {
        return absl::FailedPreconditionError(absl::StrCat("the evidence database has schema ", version,
                                                          ", this program knows up to ", kSchemaVersion,
                                                          "; run a newer flightplan"));
      }
      for (int64_t step = version; step < kSchemaVersion; ++step) {
        FLIGHTPLAN_RETURN_IF_ERROR(pg_->Execute(kMigrations[step]));
        FLIGHTPLAN_RETURN_IF_ERROR(
            pg_->Query("INSERT INTO flightplan_schema VALUES ($1)", {PgText(absl::StrCat(step + 1))}).status());
      }
      return absl::OkStatus();
    });
  }

  void EndWithin(absl::Duration most) override { pg_->EndWithin(most); }

  absl::StatusOr<std::vector<AddOutcome>> Add(absl::Span<const EvidenceRecord> records) override {
    std::vector<AddOutcome> outcomes;
    FLIGHTPLAN_RETURN_IF_ERROR(InTransaction("BEGIN", [&] { return AddAll(records, &outcomes); }));
    return outcomes;
  }

  absl::StatusOr<EvidenceChanges> ReadChanges(int64_t revision, const Each& each) override {
    EvidenceChanges changes;
    const auto read = [&]() -> absl::Status {
      FLIGHTPLAN_ASSIGN_OR_RETURN(const State state, ReadState(""));
      changes.revision = state.revision;
      // A revision of the future: the database was put back from a copy.
      changes.reset = state.removed_revision > revision || state.revision < revision;
      if (changes.revision == revision && !changes.reset) return absl::OkStatus();
      FLIGHTPLAN_RETURN_IF_ERROR(
          pg_->Execute(absl::StrCat("DECLARE changes NO SCROLL CURSOR FOR ", kColumns, "WHERE revision > ",
                                    changes.reset ? 0 : revision, " AND removed_revision IS NULL ORDER BY revision")
                           .c_str()));
      return FetchAll("changes", each);
    };
    FLIGHTPLAN_RETURN_IF_ERROR(InTransaction(kReadSnapshot, read));
    return changes;
  }

  absl::StatusOr<std::vector<EvidenceRecord>> AsOf(int64_t revision) override {
    std::vector<EvidenceRecord> records;
    FLIGHTPLAN_RETURN_IF_ERROR(InTransaction(kReadSnapshot, [&]() -> absl::Status {
      FLIGHTPLAN_ASSIGN_OR_RETURN(const State state, ReadState(""));
      if (revision > state.revision || revision < state.erased_revision) {
        return absl::FailedPreconditionError(absl::StrCat("revision ", revision, " of the evidence is not there; the ",
                                                          "store has ", std::max<int64_t>(1, state.erased_revision),
                                                          " to ", state.revision));
      }
      FLIGHTPLAN_ASSIGN_OR_RETURN(
          const PgResult rows,
          pg_->Query(absl::StrCat(kColumns, "WHERE revision <= $1 AND (removed_revision IS NULL OR removed_revision > ",
                                  "$1) ORDER BY revision")
                         .c_str(),
                     {PgText(absl::StrCat(revision))}));
      for (int row = 0; row < rows.rows(); ++row) records.push_back(RecordOf(rows, row));
      return absl::OkStatus();
    }));
    return records;
  }

  absl::StatusOr<int64_t> Prune(const PruneFilter& filter) override {
    int64_t removed = 0;
    FLIGHTPLAN_RETURN_IF_ERROR(InTransaction("BEGIN", [&] { return PruneAll(filter, &removed); }));
    return removed;
  }

  absl::StatusOr<int64_t> Erase(const PruneFilter& filter) override {
    int64_t erased = 0;
    FLIGHTPLAN_RETURN_IF_ERROR(InTransaction("BEGIN", [&] { return EraseAll(filter, &erased); }));
    return erased;
  }

  absl::Status WaitForChange(absl::Duration most) override {
    if (!listening_) {
      FLIGHTPLAN_RETURN_IF_ERROR(pg_->Execute("LISTEN flightplan_evidence"));
      listening_ = true;
      return absl::OkStatus();  // what came before the LISTEN was not heard: look once
    }
    return pg_->WaitForNotification(most).status();
  }

 private:
  static constexpr char kReadSnapshot[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
  struct State {
    int64_t revision = 0, removed_revision = 0, erased_revision = 0;
  };

  template <class Body>
  absl::Status InTransaction(const char* begin, Body body) {
    FLIGHTPLAN_RETURN_IF_ERROR(pg_->Execute(begin));
    absl::Status status = body();
    if (status.ok()) return pg_->Execute("COMMIT");
    (void)pg_->Execute("ROLLBACK");
    return status;
  }

  absl::StatusOr<State> ReadState(const char* lock) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(
        const PgResult row,
        pg_->Query(
            absl::StrCat("SELECT revision, removed_revision, erased_revision FROM flightplan_evidence_state", lock)
                .c_str()));
    if (row.rows() != 1)
      return absl::UnavailableError("evidence store: PostgreSQL: flightplan_evidence_state is empty");
    return State{row.Integer(0, 0), row.Integer(0, 1), row.Integer(0, 2)};
  }

  // As many rows at a time as are about kFetchBytes.
  absl::Status FetchAll(const char* cursor, const Each& each) {
    for (size_t count = 8;;) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(const PgResult rows,
                                  pg_->Query(absl::StrCat("FETCH ", count, " FROM ", cursor).c_str()));
      size_t bytes = 0;
      for (int row = 0; row < rows.rows(); ++row) {
        EvidenceRecord record = RecordOf(rows, row);
        bytes += record.content.size();
        each(std::move(record));
      }
      if (static_cast<size_t>(rows.rows()) < count) return absl::OkStatus();
      count = bytes < kFetchBytes / 2 ? std::min<size_t>(2 * count, 4096) : std::max<size_t>(count / 2, 1);
    }
  }

  absl::Status Notify() { return pg_->Execute("NOTIFY flightplan_evidence"); }

  static EvidenceRecord RecordOf(const PgResult& rows, int row) {
    EvidenceRecord record;
    record.id = rows.Text(row, 0);
    record.revision = rows.Integer(row, 1);
    record.digest = rows.Text(row, 2);
    record.gpu = rows.Text(row, 3);
    record.model = rows.Text(row, 4);
    record.metric = rows.Text(row, 5);
    record.tenant = rows.Text(row, 6);
    record.received_us = rows.Integer(row, 7);
    record.content = rows.Bytes(row, 8);
    return record;
  }

  // The lock on the state's row is held until the commit: revisions become visible in their order, so that a reader who
  // has seen one has seen all before it.
  absl::Status AddAll(absl::Span<const EvidenceRecord> records, std::vector<AddOutcome>* outcomes) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const State state, ReadState(" FOR UPDATE"));
    int64_t revision = state.revision;
    for (const EvidenceRecord& record : records) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(
          const PgResult found,
          pg_->Query(
              "SELECT digest, revision, coalesce(removed_revision, 0) FROM flightplan_measurements WHERE id = $1",
              {PgText(record.id)}));
      if (found.rows() > 0) {
        outcomes->push_back({found.Text(0, 0) == record.digest ? AddResult::kSame : AddResult::kConflict,
                             found.Integer(0, 1), found.Integer(0, 2) != 0});
        continue;
      }
      ++revision;
      FLIGHTPLAN_RETURN_IF_ERROR(
          pg_->Query("INSERT INTO flightplan_measurements (id, revision, digest, gpu, model, metric, tenant, "
                     "received_us, content) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                     {PgText(record.id), PgText(absl::StrCat(revision)), PgText(record.digest), PgText(record.gpu),
                      PgText(record.model), PgText(record.metric), PgText(record.tenant),
                      PgText(absl::StrCat(record.received_us)), PgBytes(record.content)})
              .status());
      outcomes->push_back({AddResult::kAdded, revision});
    }
    if (revision == state.revision) return absl::OkStatus();
    FLIGHTPLAN_RETURN_IF_ERROR(
        pg_->Query("UPDATE flightplan_evidence_state SET revision = $1", {PgText(absl::StrCat(revision))}).status());
    return Notify();
  }

  absl::Status PruneAll(const PruneFilter& filter, int64_t* removed) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const State state, ReadState(" FOR UPDATE"));
    const std::string next = absl::StrCat(state.revision + 1);
    FLIGHTPLAN_RETURN_IF_ERROR(OnEach(filter,
                                      absl::StrCat("UPDATE flightplan_measurements SET removed_revision = ", next,
                                                   " WHERE removed_revision IS NULL", kMatching),
                                      removed));
    if (*removed == 0) return absl::OkStatus();
    FLIGHTPLAN_RETURN_IF_ERROR(
        pg_->Query("UPDATE flightplan_evidence_state SET revision = $1, removed_revision = $1", {PgText(next)})
            .status());
    return Notify();
  }

  absl::Status EraseAll(const PruneFilter& filter, int64_t* erased) {
    int64_t marked = 0;
    const std::string gone = absl::StrCat("FROM flightplan_measurements WHERE removed_revision IS NOT NULL", kMatching);
    FLIGHTPLAN_RETURN_IF_ERROR(
        OnEach(filter,
               absl::StrCat("UPDATE flightplan_evidence_state SET erased_revision = greatest(erased_revision, "
                            "(SELECT max(removed_revision) ",
                            gone, "))"),
               &marked));
    return OnEach(filter, absl::StrCat("DELETE ", gone), erased);
  }

  // Once for each id of the filter, by kMatching.
  absl::Status OnEach(const PruneFilter& filter, const std::string& sql, int64_t* changed) {
    const std::vector<std::string> any = {""};
    for (const std::string& id : filter.ids.empty() ? any : filter.ids) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(
          const PgResult done,
          pg_->Query(sql.c_str(), {PgText(absl::StrCat(filter.received_before_us)), PgText(filter.gpu),
                                   PgText(filter.model), PgText(filter.tenant), PgText(id)}));
      *changed += done.affected();
    }
    return absl::OkStatus();
  }

  const std::unique_ptr<PgConnection> pg_;
  bool listening_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EvidenceStore>> OpenPostgresEvidenceStore(const std::string& url) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::unique_ptr<PgConnection> pg, PgConnection::Open(url, kStatementLimit));
  auto store = std::make_unique<PostgresEvidenceStore>(std::move(pg));
  FLIGHTPLAN_RETURN_IF_ERROR(store->Prepare());
  return store;
}

}  // namespace flightplan::service
