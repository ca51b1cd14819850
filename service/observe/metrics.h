// All metrics of the service. Series are looked up once and held: an increment costs a few nanoseconds, a look-up by
// labels two hundred.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "service/observe/http_drops.h"
#include "service/wire/role.h"

namespace flightplan::service {

enum class MetricKind { kCounter, kGauge, kHistogram };

// One row of the table of metrics.
struct MetricSpec {
  absl::string_view name;
  MetricKind kind;
  absl::string_view labels;  // comma separated
  absl::string_view help;
};
absl::Span<const MetricSpec> MetricTable();

// Canonical codes 0..16.
inline constexpr int kStatusCodes = 17;
// "OK", "InvalidArgument" ...
absl::string_view StatusCodeLabel(int code);

class Metrics {
 public:
  using Counter = prometheus::Counter;

  // The series of one rpc.
  struct Method {
    std::string name;  // "/flightplan.v1.ResolverService/ResolveConfig", for logs
    bool streaming = false;
    Role role = Role::kAdmin;  // what a caller needs
    Counter* started = nullptr;
    Counter* received = nullptr;
    Counter* sent = nullptr;
    prometheus::Histogram* handling = nullptr;
    std::array<Counter*, kStatusCodes> handled{};
  };

  // Creates the series of every rpc of flightplan.v1, and of the unknown ones as one.
  Metrics(absl::string_view version, absl::string_view catalog_revision);

  // Never null: an unknown name gives the series of unknown methods. Lives as long as this object.
  const Method* ForMethod(absl::string_view service, absl::string_view method) const;

  Counter& Outcome(absl::string_view rpc, absl::string_view target, absl::string_view outcome);
  Counter& ProbeRuns(absl::string_view result);
  Counter& Finding(absl::string_view rule_id, absl::string_view severity);
  // Of a configured tenant: their number is bounded by the tokens file.
  Counter& TenantShed(absl::string_view tenant);
  // `role`: "server", "client_ca", "webhook", "webhook_client_ca".
  prometheus::Gauge& CertificateExpiry(absl::string_view role);

  // "slurm/enforce/refused" (door_reviews.h); anything else is not counted.
  void CountDoorReview(absl::string_view review);
  // Of a port of HTTP, by its setting: "http_listen", "health_listen", "webhook_listen", "web_listen".
  std::function<void(HttpDrop)> HttpDrops(absl::string_view listener);
  // What flightplan_build_info shows; the first is given to the constructor.
  void SetBuildInfo(absl::string_view version, absl::string_view catalog_revision);

  // The exposition format. `refresh` is called before every reading, to set gauges whose values live elsewhere.
  std::string Text();
  void OnRead(std::function<void()> refresh) { refresh_ = std::move(refresh); }

  // Held series.
  Counter* cache_hit;
  Counter* cache_miss;
  Counter* cache_bypass;
  Counter* shed_in_flight;
  Counter* shed_expired;
  Counter* shed_quota;
  Counter* shed_queue;
  Counter* shed_tenant_in_flight;
  Counter* catalog_reload_failures;
  Counter* token_reload_failures;
  Counter* quota_reload_failures;
  prometheus::Gauge* cache_bytes;
  prometheus::Gauge* in_flight;
  prometheus::Gauge* unread_bytes;
  prometheus::Gauge* catalog_loaded;
  prometheus::Histogram* stage_queue;
  prometheus::Histogram* stage_parse;
  prometheus::Histogram* stage_resolve;
  prometheus::Histogram* stage_validate;
  prometheus::Histogram* stage_serialize;
  Counter* decision_log_written;
  Counter* decision_log_dropped;
  Counter* decision_log_lost;
  Counter* log_suppressed;
  Counter* unread_given_up;
  prometheus::Gauge* evidence_up;
  prometheus::Gauge* evidence_measurements;
  prometheus::Gauge* evidence_bytes;

  // Of an operation on the evidence store: "connect", "add", "load", "wait".
  struct StoreOp {
    prometheus::Histogram* seconds;
    Counter* errors;
  };
  const StoreOp& ForStoreOp(absl::string_view op) const { return store_ops_.at(op); }

 private:
  template <class T, class... Args>
  T* Series(absl::string_view metric, const prometheus::Labels& labels, const Args&... args);
  Method MakeMethod(absl::string_view service, absl::string_view method, absl::string_view type);

  prometheus::Registry registry_;
  std::map<absl::string_view, void*> families_;         // by metric name; the table holds the names
  std::map<std::string, Method, std::less<>> methods_;  // "flightplan.v1.ResolverService/ResolveConfig"
  Method unknown_;
  std::map<std::string, Counter*, std::less<>> door_reviews_;
  std::map<absl::string_view, StoreOp> store_ops_;
  using HttpDropCounters = std::array<Counter*, kHttpDropWords.size()>;
  std::map<absl::string_view, HttpDropCounters> http_drops_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Counter*> findings_;  // guarded by mutex_
  std::function<void()> refresh_;
  prometheus::Gauge* build_info_ = nullptr;
};

}  // namespace flightplan::service
