// One JSON line per answer: what was decided, on which catalogue and evidence, by which rules, from which request and
// with which bytes, so that `flightplan replay` can say whether it would be the same today. A request that may carry a
// secret does not stand in it (service/observe/replay_record.h); its digest is the decision id. Lines that cannot be
// written, on a full disk, are counted and said; the server goes on. A door's review stands there too, with who asked
// and what became of the object, also where the door could not judge and nothing was decided.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "service/call/answer_source.h"
#include "service/observe/line_sink.h"
#include "service/observe/log.h"
#include "service/observe/metrics.h"

namespace flightplan::service {

// What a door made of an answer, for its line. Views need only live through the call of Write.
struct DecisionDoor {
  absl::string_view door, mode, verdict;  // "kubernetes", "enforce", "refused"
  absl::string_view object;               // "PyTorchJob team-a/pretrain"
  absl::string_view user;                 // as the door's own system calls them; empty: it does not say
  bool allowed = true;
  bool dry_run = false;
  std::vector<absl::string_view> findings;  // rule ids that the verdict rests on
  absl::string_view reason;                 // why nothing was judged, or what failed
};

struct DecisionEntry {
  absl::string_view rpc;           // or the path of a door: "/admission/v1/validate"
  const Answer* answer = nullptr;  // null: nothing was decided
  absl::string_view request_id, trace_id;
  absl::string_view tenant;  // who asked; empty: nobody is asked who they are
  double seconds = 0;
  const DecisionDoor* door = nullptr;  // null: the caller's own question
};

class DecisionLog {
 public:
  // `where`: "off", "stdout" or "file:PATH" (appended to; opened again when the name stands for another file).
  // `metrics` and `log` must outlive the log.
  static absl::StatusOr<std::unique_ptr<DecisionLog>> Open(const std::string& where, Metrics* metrics, Log* log);

  // The same error as Open's; makes no file.
  static absl::Status Check(const std::string& where);

  bool enabled() const { return sink_ != nullptr; }
  // The file that is appended to; empty: none.
  const std::string& path() const { return path_; }
  void Write(const DecisionEntry& entry);
  // What was decided until now is in the file. False: not within `at_most`.
  bool Flush(absl::Duration at_most);
  // The file is opened again, as after it was moved away.
  void Reopen();

 private:
  DecisionLog(Metrics* metrics, Log* log) : metrics_(metrics), log_(log) {}
  void Lost(uint64_t lines, int error);

  Metrics* const metrics_;
  Log* const log_;
  std::unique_ptr<LineSink> sink_;  // null: off
  std::string path_;
};

}  // namespace flightplan::service
