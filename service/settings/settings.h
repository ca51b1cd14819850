// The server's settings. Precedence: flag, environment variable FLIGHTPLAN_<FLAG>, --config file, default.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "service/local/process_sources.h"
#include "service/observe/log.h"

namespace flightplan::service {

struct Settings {
  std::vector<std::string> listen = {"127.0.0.1:50051"};
  std::string front_listen;  // unix:PATH of the front in deploy/haproxy; empty: none
  bool allow_plaintext = false;
  std::string http_listen = "127.0.0.1:9464";  // empty: no HTTP
  std::string health_listen;                   // empty: health is asked on http_listen alone
  std::string web_listen;                      // empty: no port for browsers
  std::vector<std::string> web_host;           // names of it besides those of loopback
  std::vector<std::string> web_origin;         // whose pages may ask it besides its own
  std::string tls_cert_file;                   // empty: no TLS
  std::string tls_key_file;
  std::string tls_client_ca_file;  // empty: no client certificates
  std::string token_file;          // empty: callers are not asked who they are
  std::string quota_file;          // empty: no quotas
  std::string webhook_listen;      // empty: no Kubernetes webhook
  std::string webhook_cert_file;
  std::string webhook_key_file;
  std::string webhook_client_ca_file;  // empty: the webhook asks for no client certificate
  std::string webhook_mode = "warn";   // shadow, warn, enforce
  bool webhook_fail_closed = false;
  std::vector<std::string> stack_releases;  // "megatron-lm@0.17": what the site runs, where a launch does not say
  std::string catalog_dir;                  // empty: built-in catalogue only
  std::string decision_log = "off";         // off, stdout, file:PATH
  bool decision_log_text = false;           // scripts and other free text stand in it too
  std::string evidence_store = "auto";      // see service/evidence/evidence_location.h
  int64_t max_in_flight = 0;                // 0: 64 per core
  int64_t max_request_bytes = int64_t{1} << 20;
  absl::Duration max_deadline = absl::Seconds(120);
  absl::Duration drain_delay = absl::Seconds(5);
  absl::Duration drain_timeout = absl::Seconds(25);
  int64_t cache_bytes = int64_t{64} << 20;
  bool reflection = true;
  bool probe = false;        // RunProbe measures this node's GPUs
  std::string probe_worker;  // path; empty: flightplan-probe beside this binary or on the PATH
  std::string probe_fake;    // a file that is replayed instead of a GPU
  std::string profile_dir;   // empty: profiles are kept in memory
  absl::Duration profile_max_age = absl::Hours(24 * 30);
  LogLevel log_level = LogLevel::kInfo;

  bool stop_with_stdin = false;  // also remove the folders of unix sockets where that leaves them empty

  // What to do instead of serving.
  bool check_config = false;
  bool print_config = false;
  bool help = false;
  std::string config;  // the file read
};

// `args`: what follows `serve` on the command line. INVALID_ARGUMENT names the flag, the variable, or file, line and
// column, and what would be right.
absl::StatusOr<Settings> ParseSettings(absl::Span<const std::string> args, const SettingsSources& sources);

// The addresses of `listen` at which strangers from other machines meet gRPC itself: not loopback, not a unix socket,
// and no client certificate is asked for.
std::vector<std::string> OpenToStrangers(const Settings& settings);

// What one setting is: for completion, the manual page and the schema of the --config file.
struct SettingInfo {
  enum class Kind { kText, kTexts, kSwitch, kNumber, kBytes, kDuration };
  absl::string_view name;  // "max_in_flight"
  absl::string_view help;
  Kind kind = Kind::kText;
  absl::Span<const absl::string_view> words;  // the only values; empty: any
  int64_t min = 0, max = 0;                   // of numbers and bytes; of durations in seconds
  std::string fallback;                       // the default, as a file says it
  bool in_file = true;
};
// Every setting, in the order of the help.
std::vector<SettingInfo> SettingsTable();

// The settings in force as a configuration file.
std::string SettingsToYaml(const Settings& settings);
// One line per flag.
std::string SettingsHelp();

}  // namespace flightplan::service
