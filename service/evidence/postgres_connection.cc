#include "service/evidence/postgres_connection.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "resolver/base/status_macros.h"

namespace flightplan::service {
namespace {

using Clock = std::chrono::steady_clock;

// True: the socket is ready for `events`. False: `until` came first.
bool PollUntil(int fd, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd ask{fd, events, 0};
    const int ready = ::poll(&ask, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // libpq will say what is wrong
  }
}

std::string OneLine(absl::string_view text) {
  return absl::StrReplaceAll(absl::StripAsciiWhitespace(text), {{"\n", "; "}});
}

}  // namespace

std::string PgResult::Text(int row, int column) const {
  return std::string(Pq().PQgetvalue(result_.get(), row, column),
                     static_cast<size_t>(Pq().PQgetlength(result_.get(), row, column)));
}

int64_t PgResult::Integer(int row, int column) const {
  return std::strtoll(Pq().PQgetvalue(result_.get(), row, column), nullptr, 10);
}

std::string PgResult::Bytes(int row, int column) const {
  const auto* text = reinterpret_cast<const unsigned char*>(Pq().PQgetvalue(result_.get(), row, column));
  size_t size = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> bytes(Pq().PQunescapeBytea(text, &size), Pq().PQfreemem);
  return bytes == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(bytes.get()), size);
}

int64_t PgResult::affected() const { return std::strtoll(Pq().PQcmdTuples(result_.get()), nullptr, 10); }

absl::Status PgConnection::Failed(const char* what) const {
  return absl::UnavailableError(
      absl::StrCat("evidence store: PostgreSQL: ", what, ": ", OneLine(Pq().PQerrorMessage(connection_.get()))));
}

absl::StatusOr<std::unique_ptr<PgConnection>> PgConnection::Open(const std::string& url, absl::Duration limit) {
  FLIGHTPLAN_RETURN_IF_ERROR(LoadLibpq());
  const auto until = Clock::now() + absl::ToChronoMilliseconds(limit);
  Handle handle(Pq().PQconnectStart(url.c_str()), Pq().PQfinish);
  if (handle == nullptr) return absl::UnavailableError("evidence store: PostgreSQL: out of memory");
  std::unique_ptr<PgConnection> connection(new PgConnection(std::move(handle), limit));
  PGconn* const pg = connection->connection_.get();
  if (Pq().PQstatus(pg) == CONNECTION_BAD) return connection->Failed("connect");
  for (PostgresPollingStatusType next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK;
       next = Pq().PQconnectPoll(pg)) {
    if (next == PGRES_POLLING_FAILED) return connection->Failed("connect");
    const short events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (!PollUntil(Pq().PQsocket(pg), events, until)) {
      return absl::UnavailableError("evidence store: PostgreSQL: connect: no answer in time");
    }
  }
  Pq().PQsetnonblocking(pg, 1);
  // Notices would go to standard error, past the log.
  Pq().PQsetNoticeProcessor(
      pg, [](void*, const char*) {}, nullptr);
  return connection;
}

absl::StatusOr<PgResult> PgConnection::Query(const char* sql, const std::vector<PgParameter>& parameters) {
  std::vector<const char*> values;
  std::vector<int> lengths, formats;
  for (const PgParameter& parameter : parameters) {
    values.push_back(parameter.value.data());
    lengths.push_back(static_cast<int>(parameter.value.size()));
    formats.push_back(parameter.bytes ? 1 : 0);
  }
  if (Pq().PQsendQueryParams(connection_.get(), sql, static_cast<int>(parameters.size()), nullptr, values.data(),
                             lengths.data(), formats.data(), 0) == 0) {
    return Failed("send");
  }
  return Finish();
}

absl::Status PgConnection::Execute(const char* sql) {
  if (Pq().PQsendQuery(connection_.get(), sql) == 0) return Failed("send");
  return Finish().status();
}

// The last result of what was sent; the first error, if there was one.
absl::StatusOr<PgResult> PgConnection::Finish() {
  PGconn* const pg = connection_.get();
  const auto until = std::min<Clock::time_point>(Clock::now() + absl::ToChronoMilliseconds(limit_), end_by_);
  const absl::Status late = absl::UnavailableError("evidence store: PostgreSQL: no answer in time");
  int unsent = 0;
  while ((unsent = Pq().PQflush(pg)) == 1) {
    if (!PollUntil(Pq().PQsocket(pg), POLLIN | POLLOUT, until)) return late;
    if (Pq().PQconsumeInput(pg) == 0) return Failed("send");
  }
  if (unsent < 0) return Failed("send");
  PgResult last(nullptr);
  absl::Status failed;
  for (;;) {
    while (Pq().PQisBusy(pg) != 0) {
      if (!PollUntil(Pq().PQsocket(pg), POLLIN, until)) return late;
      if (Pq().PQconsumeInput(pg) == 0) return Failed("receive");
    }
    PGresult* result = Pq().PQgetResult(pg);
    if (result == nullptr) break;
    const ExecStatusType status = Pq().PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && failed.ok()) {
      failed = absl::UnavailableError(
          absl::StrCat("evidence store: PostgreSQL: ", OneLine(Pq().PQresultErrorMessage(result))));
    }
    last = PgResult(result);
  }
  if (!failed.ok()) return failed;
  return last;
}

absl::StatusOr<bool> PgConnection::WaitForNotification(absl::Duration most) {
  PGconn* const pg = connection_.get();
  const auto until = Clock::now() + absl::ToChronoMilliseconds(most);
  for (;;) {
    bool any = false;
    for (PGnotify* notify = Pq().PQnotifies(pg); notify != nullptr; notify = Pq().PQnotifies(pg)) {
      Pq().PQfreemem(notify);
      any = true;
    }
    if (any) return true;
    if (!PollUntil(Pq().PQsocket(pg), POLLIN, until)) return false;
    if (Pq().PQconsumeInput(pg) == 0) return Failed("receive");
  }
}

}  // namespace flightplan::service
