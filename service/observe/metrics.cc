#include "service/observe/metrics.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/evidence_service.pb.h"
#include "flightplan/v1/fleet_service.pb.h"
#include "flightplan/v1/probe_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "flightplan/v1/timeline.pb.h"
#include "google/protobuf/descriptor.h"
#include "prometheus/text_serializer.h"
#include "service/observe/door_reviews.h"
#include "service/observe/process_metrics.h"

namespace flightplan::service {
namespace {

using google::protobuf::ServiceDescriptor;

constexpr MetricSpec kTable[] = {
    {"grpc_server_started_total", MetricKind::kCounter, "grpc_type,grpc_service,grpc_method", "Calls started."},
    {"grpc_server_handled_total", MetricKind::kCounter, "grpc_type,grpc_service,grpc_method,grpc_code",
     "Calls completed, by status code."},
    {"grpc_server_msg_received_total", MetricKind::kCounter, "grpc_type,grpc_service,grpc_method",
     "Messages received."},
    {"grpc_server_msg_sent_total", MetricKind::kCounter, "grpc_type,grpc_service,grpc_method", "Messages sent."},
    {"grpc_server_handling_seconds", MetricKind::kHistogram, "grpc_type,grpc_service,grpc_method",
     "Time from the arrival of a call to its end."},
    {"flightplan_build_info", MetricKind::kGauge, "version,catalog_revision", "Always 1; the labels say what runs."},
    {"flightplan_outcomes_total", MetricKind::kCounter, "rpc,target,outcome", "Answers, by what they say."},
    {"flightplan_findings_total", MetricKind::kCounter, "rule_id,severity", "Findings in answers, by rule."},
    {"flightplan_stage_seconds", MetricKind::kHistogram, "stage",
     "Time of one stage of an answer that was not cached."},
    {"flightplan_cache_requests_total", MetricKind::kCounter, "result", "Look-ups in the result cache."},
    {"flightplan_cache_bytes", MetricKind::kGauge, "", "Bytes the result cache holds."},
    {"flightplan_in_flight_requests", MetricKind::kGauge, "", "Calls accepted and not yet answered."},
    {"flightplan_shed_total", MetricKind::kCounter, "reason", "Calls refused before any work."},
    {"flightplan_tenant_shed_total", MetricKind::kCounter, "tenant", "Calls refused because of the tenant's quota."},
    {"flightplan_catalog_last_success_timestamp_seconds", MetricKind::kGauge, "",
     "When the catalogue was last loaded."},
    {"flightplan_catalog_reload_failures_total", MetricKind::kCounter, "",
     "Catalogues that were not taken over; the last good one serves on."},
    {"flightplan_access_reload_failures_total", MetricKind::kCounter, "file",
     "Token and quota files that were not taken over; the last good ones are in force."},
    {"flightplan_tls_certificate_expiry_timestamp_seconds", MetricKind::kGauge, "role",
     "When the first certificate of a file ends."},
    {"flightplan_probe_runs_total", MetricKind::kCounter, "result", "Probes asked for, by how they ended."},
    {"flightplan_decision_log_written_total", MetricKind::kCounter, "", "Lines queued for the decision log."},
    {"flightplan_door_reviews_total", MetricKind::kCounter, "door,mode,verdict",
     "Jobs reviewed at a scheduler's door, by what the door made of them."},
    {"flightplan_http_dropped_total", MetricKind::kCounter, "listener,reason",
     "Connections at the HTTP ports that got no answer, or an error instead of one."},
    {"flightplan_decision_log_dropped_total", MetricKind::kCounter, "reason",
     "Lines missing in the decision log: no room in its queue, or it could not be written."},
    {"flightplan_unread_answer_bytes", MetricKind::kGauge, "",
     "Bytes of unary answers that have not left yet; at most 256 MiB."},
    {"flightplan_unread_answers_given_up_total", MetricKind::kCounter, "",
     "Calls ended because their answers, and those of others, were not read."},
    {"flightplan_log_suppressed_total", MetricKind::kCounter, "", "Log lines left out, of many about the same thing."},
    {"flightplan_evidence_store_up", MetricKind::kGauge, "", "0 while the evidence store does not answer, 1 else."},
    {"flightplan_evidence_measurements", MetricKind::kGauge, "", "Measurements in force; at most 100,000."},
    {"flightplan_evidence_bytes", MetricKind::kGauge, "", "Bytes of the measurements in force; at most 128 MiB."},
    {"flightplan_evidence_store_seconds", MetricKind::kHistogram, "op", "Time of an operation on the evidence store."},
    {"flightplan_evidence_store_errors_total", MetricKind::kCounter, "op",
     "Operations on the evidence store that failed."},
};

const prometheus::Histogram::BucketBoundaries& Buckets() {
  static const auto* const kBuckets = new prometheus::Histogram::BucketBoundaries{
      0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30, 120};
  return *kBuckets;
}

std::vector<const ServiceDescriptor*> Services() {
  return {v1::ResolveConfigRequest::descriptor()->file()->service(0),
          v1::GetModelRequest::descriptor()->file()->service(0),
          v1::GetMeasurementRequest::descriptor()->file()->service(0),
          v1::RunProbeRequest::descriptor()->file()->service(0),
          v1::DescribeTimelineRequest::descriptor()->file()->service(0),
          v1::SummarizeDecisionsRequest::descriptor()->file()->service(0)};
}

absl::string_view TypeLabel(const google::protobuf::MethodDescriptor& method) {
  if (method.client_streaming()) return method.server_streaming() ? "bidi_stream" : "client_stream";
  return method.server_streaming() ? "server_stream" : "unary";
}

}  // namespace

absl::Span<const MetricSpec> MetricTable() { return kTable; }

absl::string_view StatusCodeLabel(int code) {
  static constexpr absl::string_view kLabels[kStatusCodes] = {
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  return code >= 0 && code < kStatusCodes ? kLabels[code] : kLabels[2];
}

template <class T, class... Args>
T* Metrics::Series(absl::string_view metric, const prometheus::Labels& labels, const Args&... args) {
  return &static_cast<prometheus::Family<T>*>(families_.at(metric))->Add(labels, args...);
}

Metrics::Metrics(absl::string_view version, absl::string_view catalog_revision) {
  for (const MetricSpec& spec : kTable) {
    const std::string name(spec.name);
    const std::string help(spec.help);
    void* family = nullptr;
    switch (spec.kind) {
      case MetricKind::kCounter:
        family = &prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
        break;
      case MetricKind::kGauge:
        family = &prometheus::BuildGauge().Name(name).Help(help).Register(registry_);
        break;
      case MetricKind::kHistogram:
        family = &prometheus::BuildHistogram().Name(name).Help(help).Register(registry_);
        break;
    }
    families_.emplace(spec.name, family);
  }
  for (const ServiceDescriptor* service : Services()) {
    for (int i = 0; i < service->method_count(); ++i) {
      const google::protobuf::MethodDescriptor& method = *service->method(i);
      methods_.emplace(absl::StrCat(service->full_name(), "/", method.name()),
                       MakeMethod(service->full_name(), method.name(), TypeLabel(method)));
    }
  }
  unknown_ = MakeMethod("unknown", "unknown", "unary");

  using prometheus::Gauge;
  using prometheus::Histogram;
  SetBuildInfo(version, catalog_revision);
  cache_hit = Series<Counter>("flightplan_cache_requests_total", {{"result", "hit"}});
  cache_miss = Series<Counter>("flightplan_cache_requests_total", {{"result", "miss"}});
  cache_bypass = Series<Counter>("flightplan_cache_requests_total", {{"result", "bypass"}});
  shed_in_flight = Series<Counter>("flightplan_shed_total", {{"reason", "in_flight"}});
  shed_expired = Series<Counter>("flightplan_shed_total", {{"reason", "expired"}});
  shed_queue = Series<Counter>("flightplan_shed_total", {{"reason", "queue"}});
  shed_quota = Series<Counter>("flightplan_shed_total", {{"reason", "quota"}});
  shed_tenant_in_flight = Series<Counter>("flightplan_shed_total", {{"reason", "tenant_in_flight"}});
  catalog_reload_failures = Series<Counter>("flightplan_catalog_reload_failures_total", {});
  token_reload_failures = Series<Counter>("flightplan_access_reload_failures_total", {{"file", "tokens"}});
  quota_reload_failures = Series<Counter>("flightplan_access_reload_failures_total", {{"file", "quotas"}});
  cache_bytes = Series<Gauge>("flightplan_cache_bytes", {});
  in_flight = Series<Gauge>("flightplan_in_flight_requests", {});
  catalog_loaded = Series<Gauge>("flightplan_catalog_last_success_timestamp_seconds", {});
  stage_queue = Series<Histogram>("flightplan_stage_seconds", {{"stage", "queue"}}, Buckets());
  stage_parse = Series<Histogram>("flightplan_stage_seconds", {{"stage", "parse"}}, Buckets());
  stage_resolve = Series<Histogram>("flightplan_stage_seconds", {{"stage", "resolve"}}, Buckets());
  stage_validate = Series<Histogram>("flightplan_stage_seconds", {{"stage", "validate"}}, Buckets());
  stage_serialize = Series<Histogram>("flightplan_stage_seconds", {{"stage", "serialize"}}, Buckets());
  for (const DoorReview& review : DoorReviewSeries()) {
    door_reviews_[review.Key()] =
        Series<Counter>("flightplan_door_reviews_total", {{"door", std::string(review.door)},
                                                          {"mode", std::string(review.mode)},
                                                          {"verdict", std::string(review.verdict)}});
  }
  decision_log_written = Series<Counter>("flightplan_decision_log_written_total", {});
  decision_log_dropped = Series<Counter>("flightplan_decision_log_dropped_total", {{"reason", "queue"}});
  decision_log_lost = Series<Counter>("flightplan_decision_log_dropped_total", {{"reason", "write"}});
  unread_bytes = Series<Gauge>("flightplan_unread_answer_bytes", {});
  unread_given_up = Series<Counter>("flightplan_unread_answers_given_up_total", {});
  log_suppressed = Series<Counter>("flightplan_log_suppressed_total", {});
  evidence_up = Series<Gauge>("flightplan_evidence_store_up", {});
  evidence_measurements = Series<Gauge>("flightplan_evidence_measurements", {});
  evidence_bytes = Series<Gauge>("flightplan_evidence_bytes", {});
  for (const char* listener : {"http_listen", "health_listen", "webhook_listen", "web_listen"}) {
    HttpDropCounters& counters = http_drops_[listener];
    for (size_t i = 0; i < counters.size(); ++i) {
      counters[i] = Series<Counter>("flightplan_http_dropped_total",
                                    {{"listener", listener}, {"reason", std::string(kHttpDropWords[i])}});
    }
  }
  for (const char* op : {"connect", "add", "load", "wait"}) {
    store_ops_[op] = {Series<Histogram>("flightplan_evidence_store_seconds", {{"op", op}}, Buckets()),
                      Series<Counter>("flightplan_evidence_store_errors_total", {{"op", op}})};
  }
}

Metrics::Method Metrics::MakeMethod(absl::string_view service, absl::string_view method, absl::string_view type) {
  const prometheus::Labels labels = {
      {"grpc_type", std::string(type)}, {"grpc_service", std::string(service)}, {"grpc_method", std::string(method)}};
  Method series;
  series.name = absl::StrCat("/", service, "/", method);
  series.streaming = type != "unary";
  series.role = RequiredRole(absl::StripPrefix(service, "flightplan.v1."), method);
  series.started = Series<Counter>("grpc_server_started_total", labels);
  series.received = Series<Counter>("grpc_server_msg_received_total", labels);
  series.sent = Series<Counter>("grpc_server_msg_sent_total", labels);
  series.handling = Series<prometheus::Histogram>("grpc_server_handling_seconds", labels, Buckets());
  for (int code = 0; code < kStatusCodes; ++code) {
    prometheus::Labels with_code = labels;
    with_code.emplace("grpc_code", std::string(StatusCodeLabel(code)));
    series.handled[static_cast<size_t>(code)] = Series<Counter>("grpc_server_handled_total", with_code);
  }
  return series;
}

const Metrics::Method* Metrics::ForMethod(absl::string_view service, absl::string_view method) const {
  const auto found = methods_.find(absl::StrCat(service, "/", method));
  return found == methods_.end() ? &unknown_ : &found->second;
}

Metrics::Counter& Metrics::Outcome(absl::string_view rpc, absl::string_view target, absl::string_view outcome) {
  return *Series<Counter>(
      "flightplan_outcomes_total",
      {{"rpc", std::string(rpc)}, {"target", std::string(target)}, {"outcome", std::string(outcome)}});
}

Metrics::Counter& Metrics::ProbeRuns(absl::string_view result) {
  return *Series<Counter>("flightplan_probe_runs_total", {{"result", std::string(result)}});
}

Metrics::Counter& Metrics::Finding(absl::string_view rule_id, absl::string_view severity) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Counter*& series = findings_[{std::string(rule_id), std::string(severity)}];
  if (series == nullptr) {
    series = Series<Counter>("flightplan_findings_total",
                             {{"rule_id", std::string(rule_id)}, {"severity", std::string(severity)}});
  }
  return *series;
}

std::function<void(HttpDrop)> Metrics::HttpDrops(absl::string_view listener) {
  return [counters = http_drops_.at(listener)](HttpDrop why) { counters[static_cast<size_t>(why)]->Increment(); };
}

void Metrics::SetBuildInfo(absl::string_view version, absl::string_view catalog_revision) {
  using prometheus::Gauge;
  if (build_info_ != nullptr) {
    static_cast<prometheus::Family<Gauge>*>(families_.at("flightplan_build_info"))->Remove(build_info_);
  }
  build_info_ = Series<Gauge>("flightplan_build_info",
                              {{"version", std::string(version)}, {"catalog_revision", std::string(catalog_revision)}});
  build_info_->Set(1);
}

Metrics::Counter& Metrics::TenantShed(absl::string_view tenant) {
  return *Series<Counter>("flightplan_tenant_shed_total", {{"tenant", std::string(tenant)}});
}

prometheus::Gauge& Metrics::CertificateExpiry(absl::string_view role) {
  return *Series<prometheus::Gauge>("flightplan_tls_certificate_expiry_timestamp_seconds",
                                    {{"role", std::string(role)}});
}

void Metrics::CountDoorReview(absl::string_view review) {
  const auto found = door_reviews_.find(review);
  if (found != door_reviews_.end()) found->second->Increment();
}

std::string Metrics::Text() {
  if (refresh_) refresh_();
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  AppendProcessMetrics(&families);
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

}  // namespace flightplan::service
