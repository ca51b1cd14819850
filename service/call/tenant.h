// Limits a tenant's calls per second (token bucket) and its concurrent calls. A call is charged by the work it causes:
// one that takes a hundred times the usual work counts as a hundred calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "service/local/steady_time.h"
#include "service/observe/metrics.h"

namespace flightplan::service {

// Zero: no limit.
struct Quota {
  double calls_per_second = 0;
  int64_t concurrent = 0;
};

// A bucket holds what this long would fill.
inline constexpr absl::Duration kQuotaBurst = absl::Seconds(2);
// Processor time of one call; what it takes beyond counts as further calls.
inline constexpr absl::Duration kWorkOfACall = absl::Milliseconds(1);
// What a tenant owes for a search is paid within this.
inline constexpr absl::Duration kLongestDebt = absl::Seconds(60);

// quotas.yaml:
//   default: {calls_per_second: 100, concurrent: 32}
//   tenants:
//     - {name: research, calls_per_second: 2000, concurrent: 256}
struct QuotaTable {
  Quota usual;  // of tenants that the list does not name
  std::map<std::string, Quota, std::less<>> by_tenant;

  // INVALID_ARGUMENT with file, line, column and what would be right.
  static absl::StatusOr<QuotaTable> Parse(absl::string_view file, absl::string_view text);
  const Quota& For(absl::string_view tenant) const;
};

// One tenant's use. All methods from any thread; no locks.
class Tenant {
 public:
  Tenant(std::string name, Metrics::Counter* shed) : name_(std::move(name)), shed_(shed) {}

  // Takes one call at `now` (any clock that only moves forward). Not nothing: the bucket is empty for so long.
  std::optional<absl::Duration> Take(absl::Duration now);
  // For work that was done at `now`: a call's, which Take has counted as one.
  void Charge(absl::Duration work, absl::Duration now);
  void Charge(absl::Duration work);  // now, by the clock that calls are taken by
  // False: too many at once. A true one is paired with Leave().
  bool Enter();
  void Leave() { at_once_.fetch_sub(1, std::memory_order_relaxed); }

  // `usual_concurrent` holds where the quota says nothing of calls at once; 0: no limit.
  void SetQuota(const Quota& quota, int64_t usual_concurrent = 0);
  void CountShed() { shed_->Increment(); }
  const std::string& name() const { return name_; }
  // Limits in force; zero: none.
  double calls_per_second() const;
  int64_t concurrent() const { return concurrent_.load(std::memory_order_relaxed); }

 private:
  const std::string name_;
  Metrics::Counter* const shed_;
  std::atomic<int64_t> interval_ns_{0};  // between two calls at the full rate; 0: no limit
  std::atomic<int64_t> concurrent_{0};   // 0: no limit
  // The bucket as one number (GCRA): when it would be full again. Ahead of now by at most the burst.
  std::atomic<int64_t> full_at_ns_{0};
  std::atomic<int64_t> at_once_{0};
};

// Every tenant that was ever configured, by name. They live as long as this object: calls hold plain pointers, and a
// bucket's state outlives a reload.
class Tenants {
 public:
  // A tenant without a limit of calls at once has `usual_concurrent`, so that nobody takes all places; 0: none.
  Tenants(Metrics* metrics, int64_t usual_concurrent) : metrics_(*metrics), usual_concurrent_(usual_concurrent) {}
  Tenant* Get(absl::string_view name);
  // In force at once, for tenants known and to come.
  void SetQuotas(QuotaTable quotas);

 private:
  Metrics& metrics_;
  const int64_t usual_concurrent_;
  std::mutex mutex_;
  QuotaTable quotas_;                                                    // guarded by mutex_
  std::map<std::string, std::unique_ptr<Tenant>, std::less<>> tenants_;  // guarded by mutex_
};

}  // namespace flightplan::service
