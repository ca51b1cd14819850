// Holds the evidence that answers rest on: a snapshot in memory, a thread that writes reports to the store, and a
// thread that follows what other replicas write. Only a report waits for the store, and it does so on the writer's
// thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/evidence/store.h"

namespace flightplan::service {

// The evidence that answers rest on. Every call that resolves reads it.
class EvidenceSource {
 public:
  virtual ~EvidenceSource() = default;
  // Never null; immutable.
  virtual std::shared_ptr<const EvidenceSnapshot> Current() const = 0;
};

// The most reports that wait for the writer; further ones are refused with RetryInfo. One in kTenantShare of a
// tenant's.
inline constexpr size_t kMaxQueuedReports = 1024;
// The most reports in one transaction.
inline constexpr size_t kMaxReportsPerCommit = 128;
// The most entries and bytes in a snapshot; a report beyond either is refused until old ones are pruned.
inline constexpr int64_t kMaxMeasurements = 100'000;
inline constexpr int64_t kMaxEvidenceBytes = int64_t{128} << 20;
// A tenant may hold one part in kTenantShare of each. Operators, and servers without credentials, have no such limit.
inline constexpr int64_t kTenantShare = 4;
// How long a starting server waits for the store before it serves with the built-in evidence alone.
inline constexpr absl::Duration kFirstSnapshotLimit = absl::Seconds(5);
// How often the store is polled without a notification, so that replicas see each other's reports within 2 s.
inline constexpr absl::Duration kFollowEvery = absl::Milliseconds(500);

class EvidenceRegistry final : public EvidenceSource {
 public:
  struct Hooks {
    std::function<absl::StatusOr<std::unique_ptr<EvidenceStore>>()> open;
    // Reads a record by the present catalogue. Called by one thread at a time.
    std::function<EvidenceSnapshot::EntryPtr(const EvidenceRecord&)> entry;
    // The store went away (why) or came back (OK). From the registry's threads.
    std::function<void(const absl::Status& why)> changed = [](const absl::Status&) {};
    // An operation on the store ended; `op` is "connect", "add", "load" or "wait".
    std::function<void(const char* op, double seconds, bool ok)> observed = [](const char*, double, bool) {};
  };
  // Makes a report's record. Runs on the writer's thread, because it may take a while; an error refuses the report.
  using Prepare = std::function<absl::StatusOr<EvidenceRecord>(const EvidenceSnapshot&)>;
  // Receives the outcome of a report. UNAVAILABLE (STORE_DOWN): it may not be stored; reporting it again is safe.
  using Done = std::function<void(absl::StatusOr<std::pair<EvidenceRecord, AddOutcome>>)>;

  // Starts the threads and waits for the first snapshot, at most kFirstSnapshotLimit.
  explicit EvidenceRegistry(Hooks hooks);
  // Answers waiting reports with UNAVAILABLE.
  ~EvidenceRegistry() override;
  EvidenceRegistry(const EvidenceRegistry&) = delete;
  EvidenceRegistry& operator=(const EvidenceRegistry&) = delete;

  std::shared_ptr<const EvidenceSnapshot> Current() const override {
    const std::lock_guard<std::mutex> lock(current_mutex_);
    return current_;
  }
  bool up() const { return up_.load(std::memory_order_relaxed); }
  // `done` is called exactly once, on the writer's thread or, when the report is refused at once, before Report
  // returns. The snapshot holds the report when it is called with OK. Tenants take turns; empty: nobody is asked who
  // they are.
  void Report(absl::string_view tenant, Prepare prepare, Done done);
  // Calls `before`, then reads all entries of the snapshot again.
  void ReadAgain(const std::function<void()>& before);

 private:
  struct Waiting {
    Prepare prepare;
    Done done;
  };

  void Write();                      // a thread
  void Follow();                     // a thread
  std::vector<Waiting> TakeBatch();  // with the lock held
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
  std::map<std::string, std::deque<Waiting>, std::less<>> waiting_;  // by tenant; none is empty
  size_t waiting_count_ = 0;
  std::string last_served_;  // the tenant whose report was taken last
  bool stopping_ = false;
  bool first_try_over_ = false;

  std::thread writer_, follower_;  // last: they use the members above
};

// UNAVAILABLE with reason STORE_DOWN and RetryInfo.
absl::Status StoreDown(absl::string_view why);

}  // namespace flightplan::service
