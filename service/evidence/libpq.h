// Loads PostgreSQL's client library when the first connection is made. A program that keeps its evidence elsewhere
// neither needs it installed nor loads the thirty libraries that it depends on.
#pragma once

#include <libpq-fe.h>

#include "absl/status/status.h"

namespace flightplan::service {

// Formatting would align the continuations anew at every run.
// clang-format off
#define FLIGHTPLAN_LIBPQ_FUNCTIONS(F) \
  F(PQclear) F(PQcmdTuples) F(PQconnectPoll) F(PQconnectStart) F(PQconsumeInput) F(PQerrorMessage) F(PQfinish) \
  F(PQflush) F(PQfreemem) F(PQgetResult) F(PQgetisnull) F(PQgetlength) F(PQgetvalue) F(PQisBusy) F(PQnotifies) \
  F(PQntuples) F(PQresultErrorMessage) F(PQresultStatus) F(PQsendQuery) F(PQsendQueryParams) \
  F(PQsetNoticeProcessor) F(PQsetnonblocking) F(PQsocket) F(PQstatus) F(PQunescapeBytea)
// clang-format on

// Its functions under their own names.
struct Libpq {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a name that is declared
#define FLIGHTPLAN_LIBPQ_MEMBER(name) decltype(&::name) name = nullptr;
  FLIGHTPLAN_LIBPQ_FUNCTIONS(FLIGHTPLAN_LIBPQ_MEMBER)
#undef FLIGHTPLAN_LIBPQ_MEMBER
};

// Opens libpq.so.5 once. FAILED_PRECONDITION: it is not installed here; says how to get it.
absl::Status LoadLibpq();
// The functions; only after LoadLibpq was OK.
const Libpq& Pq();

}  // namespace flightplan::service
