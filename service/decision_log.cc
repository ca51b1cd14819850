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
namespace {

template <class Strings>
void AppendJsonList(absl::string_view key, const Strings& values, std::string* line) {
  absl::StrAppend(line, ",\"", key, "\":[");
  bool first = true;
  for (const auto& value : values) {
    if (!first) line->push_back(',');
    first = false;
    AppendJsonString(value, line);
  }
  line->push_back(']');
}

void AppendAnswer(const Answer& answer, std::string* line) {
  const StoredAnswer& stored = *answer.stored;
  AppendJsonFields({{"decision_id", stored.decision_id},
                    {"method", stored.method},
                    {"target", stored.target},
                    {"catalog_revision", stored.catalog_revision},
                    {"evidence_revision", stored.evidence_revision},
                    {"evidence_stale", stored.evidence_stale ? "yes" : "no"},
                    {"outcome", stored.outcome},
                    {"cache", CacheUseName(answer.cache)}},
                   line);
  AppendJsonList("rule_ids", stored.rule_ids, line);
  line->append(stored.replay);
}

void AppendDoor(const DecisionDoor& door, std::string* line) {
  AppendJsonFields({{"door", door.door},
                    {"door_mode", door.mode},
                    {"door_verdict", door.verdict},
                    {"door_allowed", door.allowed ? "yes" : "no"},
                    {"door_object", door.object},
                    {"door_user", door.user},
                    {"door_dry_run", door.dry_run ? "yes" : ""},
                    {"door_reason", door.reason}},
                   line);
  AppendJsonList("door_findings", door.findings, line);
}

}  // namespace

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

void DecisionLog::Write(const DecisionEntry& entry) {
  if (!enabled()) return;
  std::string line = absl::StrCat("{\"ts\":\"", Timestamp(), "\"");
  AppendJsonFields({{"rpc", entry.rpc},
                    {"request_id", entry.request_id},
                    {"trace_id", entry.trace_id},
                    {"version", kVersion},
                    {"duration_ms", entry.seconds * 1e3}},
                   &line);
  if (entry.answer != nullptr) AppendAnswer(*entry.answer, &line);
  if (entry.door != nullptr) AppendDoor(*entry.door, &line);
  line.push_back('}');
  (sink_->Write(line) ? metrics_->decision_log_written : metrics_->decision_log_dropped)->Increment();
}

void DecisionLog::Flush() {
  if (enabled()) sink_->Flush();
}

}  // namespace flightplan::service
