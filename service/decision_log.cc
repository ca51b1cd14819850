#include "service/decision_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "service/log.h"
#include "service/server.h"

namespace flightplan::service {

DecisionLog::DecisionLog(int fd, Metrics* metrics) : fd_(fd), metrics_(metrics) {
  if (fd_ >= 0) sink_ = std::make_unique<LineSink>(fd_);
}

DecisionLog::~DecisionLog() {
  sink_.reset();
  if (fd_ > STDERR_FILENO) ::close(fd_);
}

absl::StatusOr<std::unique_ptr<DecisionLog>> DecisionLog::Open(const std::string& where, Metrics* metrics) {
  int fd = -1;
  absl::string_view path = where;
  if (where == "stdout") {
    fd = STDOUT_FILENO;
  } else if (absl::ConsumePrefix(&path, "file:")) {
    fd = ::open(std::string(path).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd < 0) {
      return absl::FailedPreconditionError(absl::StrCat("decision log ", path, ": ", std::strerror(errno)));
    }
  }
  return absl::WrapUnique(new DecisionLog(fd, metrics));
}

void DecisionLog::Write(absl::string_view rpc, const Answer& answer, absl::string_view request_id,
                        absl::string_view trace_id, double seconds) {
  if (!enabled()) return;
  const StoredAnswer& stored = *answer.stored;
  std::string line = absl::StrCat("{\"ts\":\"", Timestamp(), "\"");
  AppendJsonFields({{"decision_id", stored.decision_id},
                    {"rpc", rpc},
                    {"method", stored.method},
                    {"request_id", request_id},
                    {"trace_id", trace_id},
                    {"target", stored.target},
                    {"catalog_revision", stored.catalog_revision},
                    {"evidence_revision", stored.evidence_revision},
                    {"evidence_stale", stored.evidence_stale ? "yes" : "no"},
                    {"version", kVersion},
                    {"outcome", stored.outcome},
                    {"cache", CacheUseName(answer.cache)},
                    {"duration_ms", seconds * 1e3}},
                   &line);
  absl::StrAppend(&line, ",\"rule_ids\":[");
  for (size_t i = 0; i < stored.rule_ids.size(); ++i) {
    if (i > 0) line.push_back(',');
    AppendJsonString(stored.rule_ids[i], &line);
  }
  absl::StrAppend(&line, "]", stored.replay, "}");
  (sink_->Write(line) ? metrics_->decision_log_written : metrics_->decision_log_dropped)->Increment();
}

void DecisionLog::Flush() {
  if (enabled()) sink_->Flush();
}

}  // namespace flightplan::service
