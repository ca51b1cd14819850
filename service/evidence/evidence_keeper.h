// Between the store and everyone else: one thread that writes, one that follows the store, and the snapshot that calls
// read. No call ever waits for the store but a report, and that on a thread of ours.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/evidence/store.h"

namespace flightplan::service {

// What answers rest on. Called by every call that resolves.
class EvidenceSource {
 public:
  virtual ~EvidenceSource() = default;
  // Never null; immutable.
  virtual std::shared_ptr<const EvidenceSnapshot> Current() const = 0;
};

// Reports waiting for the writer. Beyond it they are refused with RetryInfo.
inline constexpr size_t kMaxQueuedReports = 1024;
// Reports in one transaction.
inline constexpr size_t kMaxReportsPerCommit = 128;
// Entries and bytes a snapshot holds; a report beyond either is refused until old ones are pruned.
inline constexpr int64_t kMaxMeasurements = 100'000;
inline constexpr int64_t kMaxEvidenceBytes = int64_t{128} << 20;
// One tenant may hold so much of each; operators, and servers that ask for no credentials, have no such limit.
inline constexpr int64_t kTenantShare = 4;
// How long a server that starts waits for the store before it serves with what is built in.
inline constexpr absl::Duration kFirstSnapshotLimit = absl::Seconds(5);
// Without a notification the store is looked at this often: replicas see each other's reports in less than 2 s.
inline constexpr absl::Duration kFollowEvery = absl::Milliseconds(500);

class EvidenceKeeper final : public EvidenceSource {
 public:
  struct Hooks {
    std::function<absl::StatusOr<std::unique_ptr<EvidenceStore>>()> open;
    // The entry of a record, as this catalogue reads it. Called by one thread at a time.
    std::function<EvidenceSnapshot::EntryPtr(const EvidenceRecord&)> entry;
    // The store went away (why) or came back (OK). From the keeper's threads.
    std::function<void(const absl::Status& why)> changed = [](const absl::Status&) {};
    // An operation on the store ended: "connect", "add", "load", "wait".
    std::function<void(const char* op, double seconds, bool ok)> observed = [](const char*, double, bool) {};
  };
  // A report: makes its record on the writer's thread, as it may take a while; an error refuses it.
  using Prepare = std::function<absl::StatusOr<EvidenceRecord>(const EvidenceSnapshot&)>;
  // What became of a report. UNAVAILABLE (STORE_DOWN): not stored, or not known to be; asking again is safe.
  using Done = std::function<void(absl::StatusOr<std::pair<EvidenceRecord, AddOutcome>>)>;

  // Starts the threads and waits for the first snapshot, at most kFirstSnapshotLimit.
  explicit EvidenceKeeper(Hooks hooks);
  // Reports that wait are answered: UNAVAILABLE.
  ~EvidenceKeeper() override;
  EvidenceKeeper(const EvidenceKeeper&) = delete;
  EvidenceKeeper& operator=(const EvidenceKeeper&) = delete;

  std::shared_ptr<const EvidenceSnapshot> Current() const override {
    const std::lock_guard<std::mutex> lock(current_mutex_);
    return current_;
  }
  bool up() const { return up_.load(std::memory_order_relaxed); }
  // `done` is called exactly once, on the writer's thread or, when the report is refused at once, before Report
  // returns. The snapshot holds the report when it is called with OK.
  void Report(Prepare prepare, Done done);
  // Reads all entries of the snapshot once more, after `before` was called.
  void ReadAgain(const std::function<void()>& before);

 private:
  struct Waiting {
    Prepare prepare;
    Done done;
  };

  void Write();   // a thread
  void Follow();  // a thread
  void WriteBatch(std::vector<Waiting> batch);
  void RefuseWaiting();
  absl::Status Commit(const std::vector<EvidenceRecord>& records, std::vector<AddOutcome>* outcomes);
  absl::Status Connect(std::unique_ptr<EvidenceStore>* store);
  absl::Status CatchUp(EvidenceStore* store);
  void SetUp(const absl::Status& status);
  void Publish(std::shared_ptr<const EvidenceSnapshot> snapshot);
  template <class Operation>
  auto Timed(const char* op, Operation operation);

  const Hooks hooks_;
  mutable std::mutex current_mutex_;
  std::shared_ptr<const EvidenceSnapshot> current_;  // guarded by current_mutex_
  std::atomic<bool> up_{false};
  std::mutex publish_mutex_;                // one snapshot is made at a time
  std::unique_ptr<EvidenceStore> writing_;  // of the writer's thread

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::deque<Waiting> waiting_;
  bool stopping_ = false;
  bool first_try_over_ = false;

  std::thread writer_, follower_;  // last: they use the members above
};

// UNAVAILABLE with reason STORE_DOWN and RetryInfo.
absl::Status StoreDown(absl::string_view why);

}  // namespace flightplan::service
