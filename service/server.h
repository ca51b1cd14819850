// The gRPC server and the HTTP endpoint beside it, from start to graceful stop.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "service/backend/resolver_backend.h"
#include "service/settings/settings.h"
#include "service/version.h"

namespace flightplan {
class Catalog;
}

namespace flightplan::service {

inline constexpr int kMaxStreamsPerConnection = 128;
// What a process takes to end that was told to let nothing go on, and twice that.
inline constexpr absl::Duration kAirToEnd = absl::Seconds(5);

class Server {
 public:
  // Listens and serves. An error names the address or the file that is wrong. The backend answers for `catalog`.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Settings& settings,
                                                       const std::shared_ptr<const Catalog>& catalog,
                                                       std::unique_ptr<const ResolverBackend> backend);
  // Stops at once if Stop was not called.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Reads tokens and quotas again. An error leaves the bad file's last good content in force.
  absl::Status ReloadAccess(const SettingsSources& sources);
  // From now on answers rest on this catalogue; calls under way end on the one they began with. Not OK: what was read
  // is no catalogue, and only counted.
  absl::Status ReloadCatalog(absl::StatusOr<std::shared_ptr<const Catalog>> catalog,
                             std::unique_ptr<const ResolverBackend> backend);
  // The decision log's file is opened again, as after it was moved away.
  void ReopenLogs();

  // First step of a graceful stop: health and /readyz say no, calls are still served.
  void Drain();
  // Second step: no new calls; those in flight get drain_timeout. Returns when all have ended.
  void Stop();
  // False: a log's file takes nothing, and the writer is waited for where this ends.
  bool FlushLogs();

  // Ports in the order of settings.listen; 0 for a unix socket.
  const std::vector<int>& ports() const { return ports_; }
  // 0: no HTTP.
  int http_port() const;
  // 0: none of its own.
  int health_port() const;
  // 0: no webhook.
  int webhook_port() const;
  // 0: none for browsers.
  int web_port() const;
  Log& log();

 private:
  struct Parts;
  Server();

  std::unique_ptr<Parts> parts_;
  std::vector<int> ports_;
};

// `flightplan serve ARGS...`: serves until SIGTERM or SIGINT. Exit code 0: stopped as asked; 2: wrong flags or
// settings, or an address or a file that cannot be had. Call it before the process has started any thread: the signals
// are blocked here, for all threads.
int ServeMain(const std::vector<std::string>& args);

}  // namespace flightplan::service
