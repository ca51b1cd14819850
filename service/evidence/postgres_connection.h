// A libpq connection on which every call has a time limit: a stopped server, or a network that drops packets, ends in
// an error like any other.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "service/evidence/libpq.h"

namespace flightplan::service {

// A parameter of a statement, as text; `bytes` as binary (BYTEA).
struct PgParameter {
  std::string value;
  bool bytes = false;
};
inline PgParameter PgText(std::string value) { return {std::move(value), false}; }
inline PgParameter PgBytes(std::string value) { return {std::move(value), true}; }

class PgResult {
 public:
  explicit PgResult(PGresult* result) : result_(result, Pq().PQclear) {}
  int rows() const { return Pq().PQntuples(result_.get()); }
  bool IsNull(int row, int column) const { return Pq().PQgetisnull(result_.get(), row, column) != 0; }
  std::string Text(int row, int column) const;
  int64_t Integer(int row, int column) const;
  std::string Bytes(int row, int column) const;  // of a BYTEA column
  int64_t affected() const;

 private:
  std::unique_ptr<PGresult, void (*)(PGresult*)> result_;
};

// Errors are UNAVAILABLE, whatever is wrong with the server, with its own words; the connection is then to be thrown
// away. FAILED_PRECONDITION of Open: libpq is not installed.
class PgConnection {
 public:
  static absl::StatusOr<std::unique_ptr<PgConnection>> Open(const std::string& url, absl::Duration limit);

  absl::StatusOr<PgResult> Query(const char* sql, const std::vector<PgParameter>& parameters = {});
  // Several statements, without parameters or results.
  absl::Status Execute(const char* sql);
  // The statements that follow end within this, all together.
  void EndWithin(absl::Duration most) { end_by_ = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(most); }
  // True: a notification came within `most`.
  absl::StatusOr<bool> WaitForNotification(absl::Duration most);

 private:
  using Handle = std::unique_ptr<PGconn, void (*)(PGconn*)>;
  PgConnection(Handle connection, absl::Duration limit) : connection_(std::move(connection)), limit_(limit) {}
  absl::StatusOr<PgResult> Finish();
  absl::Status Failed(const char* what) const;

  Handle connection_;
  const absl::Duration limit_;  // of one statement
  std::chrono::steady_clock::time_point end_by_ = std::chrono::steady_clock::time_point::max();
};

}  // namespace flightplan::service
