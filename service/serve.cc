// `flightplan serve`: settings, catalogue, signals.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "google/protobuf/stubs/logging.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "service/backend/current.h"
#include "service/call/access_policy.h"
#include "service/call/decision_log.h"
#include "service/doors/review.h"
#include "service/evidence/evidence_location.h"
#include "service/http/webhook_certificates.h"
#include "service/local/catalog_folder.h"
#include "service/local/profile_store.h"
#include "service/local/steady_time.h"
#include "service/net/tls.h"
#include "service/observe/log.h"
#include "service/server.h"
#include "service/settings/unknown_variables.h"

namespace flightplan::service {
namespace {

constexpr int kStopped = 0;
constexpr int kCannotStart = 2;  // a setting that makes no sense, or an address or a file that cannot be had

class PipelineBackend final : public ResolverBackend {
 public:
  PipelineBackend(std::shared_ptr<const Catalog> catalog, const std::shared_ptr<ProfileStore>& profiles)
      : profiles_(profiles), resolver_(std::move(catalog), profiles) {}
  std::shared_ptr<ProfileStore> profiles() const override { return profiles_; }
  std::string revision() const override { return profiles_->revision(); }
  absl::Status ResolveConfig(const v1::ResolveConfigRequest& request, const EvidenceSnapshot& evidence,
                             v1::ResolveConfigResponse* response) const override {
    return resolver_.ResolveConfig(request, response, evidence);
  }
  absl::Status ValidateConfig(const v1::ValidateConfigRequest& request, const EvidenceSnapshot& evidence,
                              v1::ValidateConfigResponse* response) const override {
    return resolver_.ValidateConfig(request, response, evidence);
  }
  absl::Status AnswerResolve(const v1::ResolveConfigRequest& request, const EvidenceSnapshot& evidence,
                             ConfigAnswer* answer) const override {
    return resolver_.AnswerResolve(request, evidence, answer);
  }
  absl::Status AnswerValidate(const v1::ValidateConfigRequest& request, const EvidenceSnapshot& evidence,
                              ConfigAnswer* answer) const override {
    return resolver_.AnswerValidate(request, evidence, answer);
  }
  absl::Status ConvertConfig(const v1::ConvertConfigRequest& request,
                             v1::ConvertConfigResponse* response) const override {
    return resolver_.ConvertConfig(request, response);
  }
  absl::Status DescribeTimeline(const v1::DescribeTimelineRequest& request, const EvidenceSnapshot& evidence,
                                v1::DescribeTimelineResponse* response) const override {
    return resolver_.DescribeTimeline(request, response, evidence);
  }
  absl::Status PlanLayouts(const v1::PlanLayoutsRequest& request, const EvidenceSnapshot& evidence,
                           const PlanHooks& hooks, v1::PlanResult* result) const override {
    return resolver_.PlanLayouts(request, hooks, result, evidence);
  }
  absl::StatusOr<Measurement> ReadMeasurement(const v1::Measurement& measurement,
                                              std::optional<int64_t> now_us) const override {
    return resolver_.ReadMeasurement(measurement, now_us);
  }

 private:
  const std::shared_ptr<ProfileStore> profiles_;
  const Resolver resolver_;
};

// What Wait returns instead of a signal when standard input has ended.
constexpr int kStdinEnded = 0;

// SIGTERM, SIGINT and SIGHUP, blocked in this thread and in all that it starts; only Wait and WaitAtMost see them.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    fd_ = signalfd(-1, &set_, SFD_CLOEXEC);
  }
  ~StopSignals() { close(fd_); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Returns the next signal, or with `stop_with_stdin` kStdinEnded when nothing more can be read from standard input.
  int Wait(bool stop_with_stdin) {
    pollfd watched[] = {{fd_, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    while (true) {
      if (poll(watched, stop_with_stdin ? 2 : 1, -1) < 0) continue;
      signalfd_siginfo signal;
      if (watched[0].revents != 0 && read(fd_, &signal, sizeof(signal)) == sizeof(signal)) {
        return static_cast<int>(signal.ssi_signo);
      }
      if (watched[1].revents != 0 && !StdinGoesOn()) return kStdinEnded;
    }
  }
  // Ends early at a second SIGTERM or SIGINT.
  void WaitAtMost(absl::Duration time) {
    const absl::Duration end = SteadyNow() + time;
    while (SteadyNow() < end) {
      const timespec limit = absl::ToTimespec(end - SteadyNow());
      const int signal = sigtimedwait(&set_, nullptr, &limit);
      if (signal == SIGTERM || signal == SIGINT) return;
    }
  }

 private:
  // Throws away what can be read; only the end matters.
  static bool StdinGoesOn() {
    char buffer[256];
    const ssize_t size = read(STDIN_FILENO, buffer, sizeof(buffer));
    return size > 0 || (size < 0 && (errno == EINTR || errno == EAGAIN));
  }

  sigset_t set_;
  int fd_;
};

int Fail(const absl::Status& status) {
  std::cerr << "flightplan serve: " << status.message() << "\n";
  return kCannotStart;
}

std::string Addresses(const Settings& settings, const std::vector<int>& ports) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < settings.listen.size(); ++i) {
    const std::string& address = settings.listen[i];
    // Port 0 was replaced by a free one.
    shown.push_back(absl::EndsWith(address, ":0") && ports[i] > 0
                        ? absl::StrCat(address.substr(0, address.size() - 1), ports[i])
                        : address);
  }
  if (!settings.front_listen.empty()) shown.push_back(settings.front_listen);
  return absl::StrJoin(shown, ", ");
}

absl::Status CheckReleases(const std::vector<std::string>& releases) {
  for (const std::string& release : releases) {
    if (const absl::Status status = doors::CheckRelease(release); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("stack_releases is '", release, "', must be ", status.message()));
    }
  }
  return absl::OkStatus();
}

// What Server::Start refuses of files, for --check_config: none is made.
absl::Status CheckFiles(const Settings& settings, const SettingsSources& sources) {
  FLIGHTPLAN_RETURN_IF_ERROR(DecisionLog::Check(settings.decision_log));
  Metrics metrics(kVersion, "");
  FLIGHTPLAN_RETURN_IF_ERROR(AccessPolicy(settings, /*usual_concurrent=*/0, &metrics).Load(sources));
  const TlsFiles tls = {settings.tls_cert_file, settings.tls_key_file, settings.tls_client_ca_file};
  if (tls.on()) FLIGHTPLAN_RETURN_IF_ERROR(CheckTlsFiles(tls, absl::Now()));
  if (settings.webhook_listen.empty()) return absl::OkStatus();
  LineSink sink(STDERR_FILENO);
  Log log(&sink, settings.log_level);
  return WebhookCertificates::Load(WebhookFilesOf(settings), &log).status();
}

// A key of the file that is none is an error. A variable may be another program's, so it is only said.
std::vector<std::string> UnknownVariableTexts() {
  std::vector<std::string> texts;
  for (const UnknownVariable& variable : UnknownVariables(VariableNames())) {
    texts.push_back(
        absl::StrCat(variable.name, " is no setting",
                     variable.instead.empty() ? "" : absl::StrCat("; did you mean ", variable.instead, "?")));
  }
  return texts;
}

// SIGHUP. Each file by itself: one that is bad changes nothing and is named.
void Reload(const Settings& settings, const SettingsSources& sources, const std::shared_ptr<ProfileStore>& profiles,
            Current<Catalog>* catalog_of_profiles, Server* server) {
  const auto report = [&](absl::string_view what, const absl::Status& status) {
    if (status.ok()) {
      server->log().Write(LogLevel::kInfo, "reloaded", {{"what", what}});
    } else {
      server->log().Write(LogLevel::kError, "reload refused", {{"what", what}, {"why", status.message()}});
    }
  };
  server->ReopenLogs();
  report("access", server->ReloadAccess(sources));
  const absl::StatusOr<std::shared_ptr<const Catalog>> catalog = LoadCatalog(settings.catalog_dir);
  if (catalog.ok()) catalog_of_profiles->Set(*catalog);
  report("catalog", server->ReloadCatalog(
                        catalog, catalog.ok() ? std::make_unique<PipelineBackend>(*catalog, profiles) : nullptr));
}

// The program that made the folder for the socket may have been killed.
void RemoveEmptyFolders(const std::vector<std::string>& addresses) {
  for (absl::string_view address : addresses) {
    if (!absl::ConsumePrefix(&address, "unix:")) continue;
    rmdir(std::filesystem::path(std::string(address)).parent_path().c_str());
  }
}

// A limit on a file's size is an error of the write, no reason to end. (So is a reader that has left: RunServe.)
void WritesOnlyFail() { signal(SIGXFSZ, SIG_IGN); }

// protobuf writes a line of its own for each text that is no UTF-8, as fast as callers send it. They are told by the
// status; what ends the process is still said, by the exception.
void SayNothingOfBadText() {
  google::protobuf::SetLogHandler([](google::protobuf::LogLevel, const char*, int, const std::string&) {});
}

// Whatever still runs then, the process ends `grace` after it is told and that time later: gRPC 1.51, kept busy by
// strangers whom no front bounds, was seen to take 14 s more. Nothing is lost by it that was acknowledged. Its thread
// is made at the start: at the end there may be none to be had.
class LastWord {
 public:
  LastWord() {
    std::thread([state = state_] {
      state->told.WaitForNotification();
      if (state->grace == absl::InfiniteDuration()) return;
      absl::SleepFor(state->grace + kAirToEnd);
      JsonLine said;
      said.Fields({{"ts", Timestamp()}, {"level", "error"}, {"msg", "stopped with work under way"}});
      const std::string line = said.Take() + "\n";
      pollfd room = {STDERR_FILENO, POLLOUT, 0};  // whoever reads it may have stalled, and a write would wait for him
      if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0) {
        [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
      }
      std::_Exit(kStopped);
    }).detach();
  }
  LastWord(const LastWord&) = delete;
  LastWord& operator=(const LastWord&) = delete;
  ~LastWord() {
    if (!state_->told.HasBeenNotified()) EndAtTheLatestIn(absl::InfiniteDuration());
  }

  // Once.
  void EndAtTheLatestIn(absl::Duration grace) {
    state_->grace = grace;
    state_->told.Notify();
  }

 private:
  struct State {
    absl::Duration grace;
    absl::Notification told;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

// A connection takes a descriptor, and gRPC 1.51 without one stops accepting for good: as many as the system allows.
void TakeAllDescriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// What whoever starts a server should know of it.
void LogStart(const Settings& settings, const Catalog& catalog, Server* server) {
  Log& log = server->log();
  log.Write(LogLevel::kInfo, "serving",
            {{"version", kVersion},
             {"catalog_revision", catalog.revision()},
             {"listen", Addresses(settings, server->ports())},
             {"http_port", int64_t{server->http_port()}},
             {"health_port", int64_t{server->health_port()}},
             {"webhook_port", int64_t{server->webhook_port()}},
             {"web_port", int64_t{server->web_port()}}});
  if (const std::vector<std::string> open = OpenToStrangers(settings); !open.empty()) {
    log.Write(
        LogLevel::kWarning, "strangers meet gRPC without a front",
        {{"listen", absl::StrJoin(open, ", ")},
         {"not_bounded",
          "connections; memory for endless CONTINUATION frames and CPU for padded integers in headers "
          "(CVE-2023-33953); streams opened and reset (CVE-2023-44487)"},
         {"instead", "front_listen with deploy/haproxy/front.cfg, or tls_client_ca_file; deploy/hardening.md, Front"}});
  }
  for (const std::string& text : UnknownVariableTexts()) {
    log.Write(LogLevel::kWarning, "environment", {{"what", text}});
  }
}

absl::string_view NameOfSignal(int signal) {
  if (signal == SIGTERM) return "SIGTERM";
  return signal == SIGINT ? "SIGINT" : "end of standard input";
}

}  // namespace

int ServeMain(const std::vector<std::string>& args) {
  // Debian builds Abseil with its search for lock cycles, under one lock for the process at every lock that is taken;
  // gRPC takes dozens a call.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  TakeAllDescriptors();
  WritesOnlyFail();
  SayNothingOfBadText();
  StopSignals signals;
  const SettingsSources sources = ProcessSources();
  const absl::StatusOr<Settings> settings = ParseSettings(args, sources);
  if (!settings.ok()) return Fail(settings.status());
  if (settings->help) {
    std::cout << SettingsHelp();
    return kStopped;
  }
  if (settings->print_config) {
    std::cout << SettingsToYaml(*settings);
    return kStopped;
  }
  if (const absl::Status releases = CheckReleases(settings->stack_releases); !releases.ok()) return Fail(releases);
  if (const absl::Status library = CanOpenEvidence(settings->evidence_store); !library.ok()) {
    return Fail(library);
  }
  const absl::StatusOr<std::shared_ptr<const Catalog>> catalog = LoadCatalog(settings->catalog_dir);
  if (!catalog.ok()) return Fail(catalog.status());
  const auto catalog_of_profiles = std::make_shared<Current<Catalog>>(*catalog);
  const absl::StatusOr<std::shared_ptr<ProfileStore>> profiles = OpenProfileStore(
      settings->profile_dir, settings->profile_max_age, [catalog_of_profiles] { return catalog_of_profiles->Get(); },
      [](const std::string& what) { std::cerr << "flightplan serve: left alone: " << what << "\n"; });
  if (!profiles.ok()) return Fail(profiles.status());
  if (settings->check_config) {
    if (const absl::Status files = CheckFiles(*settings, sources); !files.ok()) return Fail(files);
    for (const std::string& text : UnknownVariableTexts()) std::cerr << "flightplan serve: " << text << "\n";
    std::cout << "settings and catalogue are fine\n";
    return kStopped;
  }
  LastWord last_word;
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(*settings, *catalog, std::make_unique<PipelineBackend>(*catalog, *profiles));
  if (!server.ok()) return Fail(server.status());
  LogStart(*settings, **catalog, server->get());
  int signal = signals.Wait(settings->stop_with_stdin);
  while (signal == SIGHUP) {
    Reload(*settings, sources, *profiles, catalog_of_profiles.get(), server->get());
    signal = signals.Wait(settings->stop_with_stdin);
  }
  Log& log = (*server)->log();
  log.Write(LogLevel::kInfo, "draining", {{"signal", NameOfSignal(signal)}});
  (*server)->Drain();
  // The time in which load balancers learn of it; a second signal ends it.
  signals.WaitAtMost(settings->drain_delay);
  last_word.EndAtTheLatestIn(settings->drain_timeout);
  (*server)->Stop();
  if (settings->stop_with_stdin) RemoveEmptyFolders(settings->listen);
  log.Write(LogLevel::kInfo, "stopped");
  if (!(*server)->FlushLogs()) std::_Exit(kStopped);
  return kStopped;
}

}  // namespace flightplan::service
