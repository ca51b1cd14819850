#include "service/server.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "flightplan/v1/evidence_service.grpc.pb.h"
#include "grpc/health/v1/health.pb.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/explain/catalog_answers.h"
#include "service/backend/current.h"
#include "service/backend/reloadable_backend.h"
#include "service/call/access_policy.h"
#include "service/call/answer_source.h"
#include "service/call/call.h"
#include "service/call/decision_log.h"
#include "service/evidence/evidence_link.h"
#include "service/handlers/answer.h"
#include "service/handlers/catalog_service.h"
#include "service/handlers/evidence_service.h"
#include "service/handlers/fleet_service.h"
#include "service/handlers/resolver_service.h"
#include "service/handlers/timeline_service.h"
#include "service/handlers/unknown_methods.h"
#include "service/http/http_endpoint.h"
#include "service/http/webhook_endpoint.h"
#include "service/local/free_memory.h"
#include "service/local/memory_limit.h"
#include "service/net/reflection.h"
#include "service/net/tls.h"
#include "service/net/why_not_listen.h"
#include "service/observe/grpc_log.h"
#include "service/observe/process_metrics.h"
#include "service/probe/probe_link.h"
#include "service/probe/probe_service.h"
#include "service/self_check.h"
#include "service/web/web_endpoint.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

constexpr const char* kServices[] = {"flightplan.v1.ResolverService", "flightplan.v1.CatalogService",
                                     "flightplan.v1.EvidenceService", "flightplan.v1.ProbeService",
                                     "flightplan.v1.TimelineService", "flightplan.v1.FleetService"};

int Cores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

// Searches of one tenant at a time; the pool has twice as many threads. Half the cores, where that many searches fit
// the memory: more than a search has taken of layouts, stages and plans, beside what all else takes
// (tests/drills/deep_searches.py).
int SearchesAtATime() {
  constexpr int64_t kBytesOfASearch = int64_t{160} << 20, kBytesBeside = int64_t{160} << 20;
  const int64_t fit = (MemoryLimit() - kBytesBeside) / (2 * kBytesOfASearch);
  return static_cast<int>(std::clamp<int64_t>(fit, 1, std::max(1, Cores() / 2)));
}

int64_t InFlightLimit(const Settings& settings) {
  return settings.max_in_flight > 0 ? settings.max_in_flight : int64_t{kInFlightPerCore} * Cores();
}

// What stands in the way of one of them.
absl::Status CheckFree(const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) {
    const std::string why = WhyNotListen(address);
    if (!why.empty()) return absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", why));
  }
  return absl::OkStatus();
}

std::string VersionJson(const std::string& catalog_revision) {
  JsonLine json;
  json.Fields({{"name", "flightplan"}, {"version", kVersion}, {"catalog_revision", catalog_revision}});
  return json.Take() + "\n";
}

// Read at every scrape: the files are replaced while the server runs.
void ShowCertificates(const Settings& settings, Metrics* metrics) {
  const std::pair<absl::string_view, const std::string*> kFiles[] = {
      {"server", &settings.tls_cert_file},
      {"client_ca", &settings.tls_client_ca_file},
      {"webhook", &settings.webhook_cert_file},
      {"webhook_client_ca", &settings.webhook_client_ca_file}};
  for (const auto& [role, path] : kFiles) {
    if (path->empty()) continue;
    const absl::StatusOr<absl::Time> end = CertificateExpiry(*path);
    metrics->CertificateExpiry(role).Set(end.ok() ? absl::ToDoubleSeconds(*end - absl::UnixEpoch()) : 0);
  }
}

WebhookEndpoint::Options WebhookOptions(const Settings& settings) {
  WebhookEndpoint::Options options;
  options.listen = settings.webhook_listen;
  options.files = WebhookFilesOf(settings);
  for (const doors::Mode mode : {doors::Mode::kShadow, doors::Mode::kWarn, doors::Mode::kEnforce}) {
    if (doors::ModeWord(mode) == settings.webhook_mode) options.policy.mode = mode;
  }
  options.policy.fail_closed = settings.webhook_fail_closed;
  options.releases = settings.stack_releases;
  return options;
}

WebEndpoint::Options WebOptions(const Settings& settings) {
  WebEndpoint::Options options;
  options.names = {settings.web_host, settings.web_origin, settings.web_listen, !settings.tls_cert_file.empty()};
  options.tls.cert_file = settings.tls_cert_file;
  options.tls.key_file = settings.tls_key_file;
  options.tls.client_ca_file = settings.tls_client_ca_file;
  options.tls.setting = "tls";
  options.services.assign(std::begin(kServices), std::end(kServices));
  options.max_message_bytes = std::min(kMaxWebBodyBytes, static_cast<size_t>(settings.max_request_bytes));
  options.max_answer_bytes = kMaxAnswerBytes;
  // The other half is left to callers of gRPC, whatever comes here.
  options.max_calls = std::max<int64_t>(1, InFlightLimit(settings) / 2);
  return options;
}

constexpr absl::Duration kLastLines = absl::Seconds(1);  // for the logs, where their files hang

bool IsUnix(absl::string_view address) { return absl::StartsWith(address, "unix:"); }

TlsFiles TlsOf(const Settings& settings) {
  return {settings.tls_cert_file, settings.tls_key_file, settings.tls_client_ca_file};
}

// A unix socket is guarded by its file's mode.
bool IsEncrypted(const Settings& settings, absl::string_view address) {
  return TlsOf(settings).on() && !absl::StartsWith(address, "unix");
}

void Configure(const Settings& settings, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(static_cast<int>(settings.max_request_bytes));
  builder->SetMaxSendMessageSize(static_cast<int>(kMaxAnswerBytes));
  // A compressed message is unpacked before its size is known; callers of this service send kilobytes.
  for (auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    builder->SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, 600'000);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 30'000);
  ServeReflection(settings.reflection, builder);
}

}  // namespace

// In the order in which they are needed; destroyed the other way round.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): one of them, and its order has a meaning
struct Server::Parts {
  Parts(const Settings& s, const std::shared_ptr<const Catalog>& in_force, std::unique_ptr<const ResolverBackend> b)
      : settings(s),
        log_sink(STDERR_FILENO),
        log(&log_sink, s.log_level),
        grpc_log(&log),
        metrics(kVersion, in_force->revision()),
        backend(std::make_unique<ReloadableBackend>(std::move(b))),
        gate(InFlightLimit(s)),
        access_policy(s, InFlightLimit(s) / 2, &metrics),
        evidence(s.evidence_store, backend.get(), &metrics, &log),
        answers(backend.get(), &metrics, static_cast<size_t>(s.cache_bytes), evidence.registry()),
        catalog(in_force),
        catalog_answers(std::make_shared<const CatalogAnswers>(in_force)),
        searches(SearchesAtATime(), FairPool::Yields::kYes, ReturnFreeMemory),
        answer_workers(Cores()),
        probe(s, *backend, &catalog, &metrics),
        batch_workers(Cores(), &searches) {
    metrics.catalog_loaded->SetToCurrentTime();
    metrics.OnRead([this] {
      metrics.cache_bytes->Set(static_cast<double>(answers.cache_bytes()));
      metrics.in_flight->Set(static_cast<double>(gate.count()));
      metrics.unread_bytes->Set(static_cast<double>(unread.bytes()));
      metrics.unread_given_up->Increment(static_cast<double>(unread.TakeGivenUp()));
      metrics.log_suppressed->Increment(static_cast<double>(log.TakeSuppressed()));
      if (evidence.registry() != nullptr) {
        const EvidenceSnapshot::Held held = evidence.registry()->Current()->held();
        metrics.evidence_measurements->Set(static_cast<double>(held.entries));
        metrics.evidence_bytes->Set(static_cast<double>(held.bytes));
      }
      ShowCertificates(settings, &metrics);
    });
  }

  // What calls need, before any comes.
  absl::Status Open() {
    FLIGHTPLAN_ASSIGN_OR_RETURN(decisions, DecisionLog::Open(settings.decision_log, &metrics, &log));
    if (decisions->enabled()) {
      answers.RecordForReplay(settings.decision_log_text ? LoggedText::kAll : LoggedText::kNone);
    }
    edge = {&metrics, &log, decisions.get(), &gate, settings.max_deadline, access_policy.access(), evidence.registry(),
            &unread,  &idle};
    return access_policy.Load(ProcessSources());
  }

  // Starts gRPC. `ports`: of settings.listen, as gRPC got them.
  absl::Status ServeGrpc(std::vector<int>* ports) {
    std::vector<std::string> addresses = settings.listen, sockets;
    if (!settings.front_listen.empty()) addresses.push_back(settings.front_listen);
    std::copy_if(addresses.begin(), addresses.end(), std::back_inserter(sockets), IsUnix);
    // Before gRPC takes a socket away from a server that listens on it.
    FLIGHTPLAN_RETURN_IF_ERROR(CheckFree(sockets));
    grpc::ServerBuilder builder;
    Configure(settings, &builder);
    ports->resize(settings.listen.size());
    for (size_t i = 0; i < settings.listen.size(); ++i) {
      const bool encrypted = IsEncrypted(settings, settings.listen[i]);
      builder.AddListeningPort(settings.listen[i],
                               encrypted ? TlsCredentials(TlsOf(settings)) : grpc::InsecureServerCredentials(),
                               &(*ports)[i]);
    }
    if (!settings.front_listen.empty()) {
      // These credentials tell its connections from others (service/call/access.cc).
      builder.AddListeningPort(settings.front_listen, grpc::experimental::LocalServerCredentials(UDS));
    }
    services = MakeServices();
    for (const auto& service : services) builder.RegisterService(service.get());
    unknown_methods = std::make_unique<UnknownMethods>(&edge);
    builder.RegisterCallbackGenericService(unknown_methods.get());
    grpc_server = builder.BuildAndStart();
    if (grpc_server != nullptr) return absl::OkStatus();
    FLIGHTPLAN_RETURN_IF_ERROR(CheckFree(addresses));
    return absl::UnavailableError(absl::StrCat("cannot listen on all of ", absl::StrJoin(addresses, ", ")));
  }

  // Starts what is served beside gRPC. `ports`: as ServeGrpc gives them.
  absl::Status ServeHttp(const std::vector<int>& ports) {
    if (!settings.http_listen.empty() || !settings.health_listen.empty()) {
      std::vector<OwnAddress> own;
      for (size_t i = 0; i < settings.listen.size(); ++i) {
        own.push_back({settings.listen[i], ports[i], IsEncrypted(settings, settings.listen[i])});
      }
      if (!settings.front_listen.empty()) own.push_back({settings.front_listen, 0, /*encrypted=*/false});
      self_check = std::make_unique<SelfCheck>(std::move(own));
    }
    // One that is stopping accepts nobody, and ends by itself.
    const Health asked = {[this] { return !ready || !self_check->lost(); },
                          [this] { return ready && self_check->answered(); }};
    if (!settings.http_listen.empty()) {
      const auto version = [this] { return VersionJson(catalog.Get()->revision()); };
      FLIGHTPLAN_ASSIGN_OR_RETURN(http, ServeStatus(settings.http_listen, asked, version, &metrics));
    }
    if (!settings.health_listen.empty()) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(health, ServeHealth(settings.health_listen, asked, &metrics));
    }
    if (!settings.webhook_listen.empty()) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(webhook,
                                  WebhookEndpoint::Start(
                                      WebhookOptions(settings), [this] { return catalog.Get(); }, &answers, &edge));
    }
    if (!settings.web_listen.empty()) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(web, WebEndpoint::Start(WebOptions(settings), MakeServices(), &edge));
    }
    return absl::OkStatus();
  }

  // Tells gRPC's health service that all services answer, and from then on how the evidence's does.
  void SayServing() {
    grpc::HealthCheckServiceInterface* const service = grpc_server->GetHealthCheckService();
    for (const char* name : kServices) service->SetServingStatus(name, true);
    evidence.OnHealth(
        [service](bool serving) { service->SetServingStatus(v1::EvidenceService::service_full_name(), serving); });
    ready = true;
  }

  // One of each, for a server of its own.
  std::vector<std::unique_ptr<grpc::Service>> MakeServices() {
    std::vector<std::unique_ptr<grpc::Service>> made;
    made.push_back(MakeResolverService(&edge, &answers, backend.get(), &answer_workers, &batch_workers, &searches));
    made.push_back(MakeTimelineService(&edge, backend.get(), &answer_workers, &searches));
    made.push_back(MakeCatalogService(&edge, &catalog_answers, &answer_workers));
    made.push_back(MakeEvidenceService(&edge, &catalog_answers, backend.get(), evidence.registry()));
    made.push_back(MakeProbeService(&edge, &probe));
    made.push_back(MakeFleetService(&edge, &answer_workers));
    return made;
  }

  const Settings settings;
  LineSink log_sink;
  Log log;
  GrpcLog grpc_log;
  Metrics metrics;
  std::unique_ptr<DecisionLog> decisions;
  std::unique_ptr<ReloadableBackend> backend;
  InFlightGate gate;
  UnreadAnswers unread;
  IdleStreams idle;
  AccessPolicy access_policy;
  EvidenceLink evidence;
  AnswerSource answers;
  Current<Catalog> catalog;
  Current<CatalogAnswers> catalog_answers;
  Edge edge{};
  FairPool searches;  // a search takes seconds, an answer microseconds
  AnswerWorkers answer_workers;
  ProbeLink probe;
  BatchWorkers batch_workers;
  std::vector<std::unique_ptr<grpc::Service>> services;
  std::unique_ptr<UnknownMethods> unknown_methods;
  std::unique_ptr<grpc::Server> grpc_server;
  std::atomic<bool> ready{false};
  std::unique_ptr<SelfCheck> self_check;  // where somebody asks for health
  std::unique_ptr<HttpServer> http;
  std::unique_ptr<HttpServer> health;
  std::unique_ptr<WebhookEndpoint> webhook;
  std::unique_ptr<WebEndpoint> web;
  bool stopped = false;
};

Server::Server() = default;

Server::~Server() {
  if (parts_ == nullptr || parts_->grpc_server == nullptr || parts_->stopped) return;
  Drain();
  parts_->grpc_server->Shutdown(std::chrono::system_clock::now());
  parts_->grpc_server->Wait();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Settings& settings,
                                                      const std::shared_ptr<const Catalog>& catalog,
                                                      std::unique_ptr<const ResolverBackend> backend) {
  std::unique_ptr<Server> server(new Server());
  server->parts_ = std::make_unique<Parts>(settings, catalog, std::move(backend));
  Parts& parts = *server->parts_;
  FLIGHTPLAN_RETURN_IF_ERROR(parts.Open());
  if (const TlsFiles tls = TlsOf(settings); tls.on()) FLIGHTPLAN_RETURN_IF_ERROR(CheckTlsFiles(tls, absl::Now()));
  grpc::EnableDefaultHealthCheckService(true);
  // Linked for reflection: a generic client can then call the health service as it calls the others.
  (void)grpc::health::v1::HealthCheckRequest::descriptor();
  FLIGHTPLAN_RETURN_IF_ERROR(parts.ServeGrpc(&server->ports_));
  FLIGHTPLAN_RETURN_IF_ERROR(parts.ServeHttp(server->ports_));
  parts.SayServing();
  return server;
}

absl::Status Server::ReloadAccess(const SettingsSources& sources) { return parts_->access_policy.Load(sources); }

absl::Status Server::ReloadCatalog(absl::StatusOr<std::shared_ptr<const Catalog>> catalog,
                                   std::unique_ptr<const ResolverBackend> backend) {
  if (!catalog.ok()) {
    parts_->metrics.catalog_reload_failures->Increment();
    return catalog.status();
  }
  parts_->backend->Replace(std::move(backend));
  parts_->evidence.CatalogChanged();
  parts_->catalog_answers.Set(std::make_shared<const CatalogAnswers>(*catalog));
  parts_->catalog.Set(*catalog);
  parts_->metrics.SetBuildInfo(kVersion, (*catalog)->revision());
  parts_->metrics.catalog_loaded->SetToCurrentTime();
  return absl::OkStatus();
}

void Server::ReopenLogs() { parts_->decisions->Reopen(); }

void Server::Drain() {
  parts_->ready = false;
  parts_->evidence.StopHealth();
  parts_->grpc_server->GetHealthCheckService()->SetServingStatus(false);
}

void Server::Stop() {
  Drain();
  const absl::Time deadline = absl::Now() + parts_->settings.drain_timeout;
  if (parts_->web != nullptr) parts_->web->Refuse();
  parts_->grpc_server->Shutdown(absl::ToChronoTime(deadline));
  parts_->grpc_server->Wait();
  if (parts_->web != nullptr) parts_->web->AwaitCalls(deadline);
  parts_->stopped = true;
  FlushLogs();
}

bool Server::FlushLogs() {
  const bool decided = parts_->decisions->Flush(kLastLines);
  return parts_->log_sink.Flush(kLastLines) && decided;
}

int Server::http_port() const { return parts_->http == nullptr ? 0 : parts_->http->port(); }
int Server::health_port() const { return parts_->health == nullptr ? 0 : parts_->health->port(); }
int Server::webhook_port() const { return parts_->webhook == nullptr ? 0 : parts_->webhook->port(); }
int Server::web_port() const { return parts_->web == nullptr ? 0 : parts_->web->port(); }
Log& Server::log() { return parts_->log; }

}  // namespace flightplan::service
