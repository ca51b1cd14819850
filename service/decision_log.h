// One JSON line per answer: what was decided, on which catalogue and evidence, by which rules, from which request and
// with which bytes, so that `flightplan replay` can say whether it would be the same today. A request that may carry a
// secret does not stand in it (service/replay_record.h); its digest is the decision id.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "service/answer_source.h"
#include "service/line_sink.h"
#include "service/metrics.h"

namespace flightplan::service {

class DecisionLog {
 public:
  // `where`: "off", "stdout" or "file:PATH" (appended to). `metrics` must outlive the log.
  static absl::StatusOr<std::unique_ptr<DecisionLog>> Open(const std::string& where, Metrics* metrics);
  ~DecisionLog();

  bool enabled() const { return sink_ != nullptr; }
  void Write(absl::string_view rpc, const Answer& answer, absl::string_view request_id, absl::string_view trace_id,
             double seconds);
  void Flush();

 private:
  DecisionLog(int fd, Metrics* metrics);

  int fd_;
  Metrics* const metrics_;
  std::unique_ptr<LineSink> sink_;  // null: off
};

}  // namespace flightplan::service
