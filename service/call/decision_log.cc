#include "service/call/decision_log.h"

#include <unistd.h>

#include <cstring>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "service/observe/json_line.h"
#include "service/observe/log.h"
#include "service/version.h"

namespace flightplan::service {
namespace {

void AppendAnswer(const Answer& answer, JsonLine* line) {
  const StoredAnswer& stored = *answer.stored;
  line->Fields({{"decision_id", stored.decision_id},
                {"method", stored.method},
                {"target", stored.target},
                {"catalog_revision", stored.catalog_revision},
                {"evidence_revision", stored.evidence_revision},
                {"evidence_stale", stored.evidence_stale ? "yes" : "no"},
                {"outcome", stored.outcome},
                {"cache", CacheUseName(answer.cache)}});
  line->List("rule_ids", stored.rule_ids);
  if (!stored.replay.answer_sha256.empty()) stored.replay.AppendTo(line);
}

void AppendDoor(const DecisionDoor& door, JsonLine* line) {
  line->Fields({{"door", door.door},
                {"door_mode", door.mode},
                {"door_verdict", door.verdict},
                {"door_allowed", door.allowed ? "yes" : "no"},
                {"door_object", door.object},
                {"door_user", door.user},
                {"door_dry_run", door.dry_run ? "yes" : ""},
                {"door_reason", door.reason}});
  line->List("door_findings", door.findings);
}

}  // namespace

absl::Status DecisionLog::Check(const std::string& where) {
  absl::string_view path = where;
  if (!absl::ConsumePrefix(&path, "file:")) return absl::OkStatus();
  const absl::Status can = LineSink::CheckAppend(std::string(path));
  return can.ok() ? can : absl::FailedPreconditionError(absl::StrCat("decision log ", can.message()));
}

absl::StatusOr<std::unique_ptr<DecisionLog>> DecisionLog::Open(const std::string& where, Metrics* metrics, Log* log) {
  auto decisions = absl::WrapUnique(new DecisionLog(metrics, log));
  const auto lost = [raw = decisions.get()](uint64_t lines, int error) { raw->Lost(lines, error); };
  absl::string_view path = where;
  if (where == "stdout") {
    decisions->sink_ = std::make_unique<LineSink>(STDOUT_FILENO);
    decisions->sink_->SetOnLost(lost);
  } else if (absl::ConsumePrefix(&path, "file:")) {
    auto sink = LineSink::Append(std::string(path), lost);
    if (!sink.ok()) return absl::FailedPreconditionError(absl::StrCat("decision log ", sink.status().message()));
    decisions->sink_ = *std::move(sink);
    decisions->path_ = std::string(path);
  }
  return decisions;
}

void DecisionLog::Lost(uint64_t lines, int error) {
  if (lines == 0) return log_->Write(LogLevel::kInfo, "decision log is written again");
  metrics_->decision_log_lost->Increment(static_cast<double>(lines));
  log_->Write(LogLevel::kError, "decisions are not logged; serving goes on",
              {{"lines", static_cast<int64_t>(lines)}, {"why", std::strerror(error)}});
}

void DecisionLog::Reopen() {
  if (enabled()) sink_->Reopen();
}

void DecisionLog::Write(const DecisionEntry& entry) {
  if (!enabled()) return;
  JsonLine line;
  line.Text("ts", Timestamp());
  line.Fields({{"rpc", entry.rpc},
               {"request_id", entry.request_id},
               {"trace_id", entry.trace_id},
               {"tenant", entry.tenant},
               {"version", kVersion},
               {"duration_ms", entry.seconds * 1e3}});
  if (entry.answer != nullptr) AppendAnswer(*entry.answer, &line);
  if (entry.door != nullptr) AppendDoor(*entry.door, &line);
  (sink_->Write(line.Take()) ? metrics_->decision_log_written : metrics_->decision_log_dropped)->Increment();
}

bool DecisionLog::Flush(absl::Duration at_most) { return !enabled() || sink_->Flush(at_most); }

}  // namespace flightplan::service
