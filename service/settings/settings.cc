#include "service/settings/settings.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "resolver/base/nearest.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/base/yaml.h"
#include "service/evidence/evidence_location.h"
#include "service/net/listen_address.h"
#include "service/settings/settings_check.h"

namespace flightplan::service {
namespace {

using S = Settings;

// One setting: the flag, the key in the file, the environment variable and the help line all come from here.
struct Row {
  using Member = std::variant<std::vector<std::string> S::*, std::string S::*, bool S::*, int64_t S::*,
                              absl::Duration S::*, LogLevel S::*>;
  absl::string_view name;
  Member member;
  absl::string_view help;
  int64_t min = 0;  // of numbers; of durations in seconds
  int64_t max = std::numeric_limits<int64_t>::max();
  bool bytes = false;  // a number of bytes: "64MiB" is understood
  bool flag_only = false;
};

constexpr int64_t kMaxMessage = int64_t{64} << 20;

const Row kRows[] = {
    {"config", &S::config, "FILE: a YAML file of settings", 0, 0, false, true},
    {"listen", &S::listen, "ADDRESS to serve gRPC on, HOST:PORT or unix:PATH; may be repeated"},
    {"front_listen", &S::front_listen,
     "unix:PATH that a front alone connects to, which bounds strangers (deploy/haproxy/front.cfg); empty: none"},
    {"allow_plaintext", &S::allow_plaintext, "serve without TLS on addresses other than loopback and unix sockets"},
    {"tls_cert_file", &S::tls_cert_file,
     "FILE: PEM certificate chain; TLS on every TCP address, files looked at each second"},
    {"tls_key_file", &S::tls_key_file, "FILE: its PEM private key"},
    {"tls_client_ca_file", &S::tls_client_ca_file, "FILE: PEM certificates that client certificates must come from"},
    {"token_file", &S::token_file, "FILE: YAML of token digests, tenants and roles; read again on SIGHUP"},
    {"quota_file", &S::quota_file, "FILE: YAML of calls per second and at once, by tenant; read again on SIGHUP"},
    {"http_listen", &S::http_listen, "HOST:PORT of /metrics, /healthz, /readyz and /version; empty: none"},
    {"health_listen", &S::health_listen,
     "HOST:PORT of /healthz and /readyz alone, which no scraper can keep busy; empty: on http_listen only"},
    {"web_listen", &S::web_listen,
     "HOST:PORT of the page and of calls by JSON over HTTP (Connect protocol); empty: none"},
    {"web_host", &S::web_host, "NAME by which browsers reach web_listen, besides loopback's; may be repeated"},
    {"web_origin", &S::web_origin,
     "ORIGIN such as https://notebook.example.com whose pages may call web_listen; may be repeated"},
    {"webhook_listen", &S::webhook_listen, "HOST:PORT of the Kubernetes admission webhook (HTTPS); empty: none"},
    {"webhook_cert_file", &S::webhook_cert_file, "FILE: its PEM certificate chain, looked at again each second"},
    {"webhook_key_file", &S::webhook_key_file, "FILE: its PEM private key"},
    {"webhook_client_ca_file", &S::webhook_client_ca_file,
     "FILE: PEM certificates that the API server's client certificate must come from; empty: none is asked for"},
    {"webhook_mode", &S::webhook_mode, "shadow (count only), warn or enforce (deny what would fail)"},
    {"webhook_fail_closed", &S::webhook_fail_closed, "enforce denies what could not be checked"},
    {"stack_releases", &S::stack_releases, "NAME@VERSION that the site runs, for the webhook; may be repeated"},
    {"catalog_dir", &S::catalog_dir, "DIR of *.yaml files with a site's own models and GPUs"},
    {"decision_log", &S::decision_log, "off, stdout or file:PATH: one JSON line per answer"},
    {"decision_log_text", &S::decision_log_text,
     "store scripts and other text of requests in it too, so that they can be replayed; they may hold secrets"},
    {"evidence_store", &S::evidence_store,
     "sqlite:/PATH, postgresql://USER@HOST/DATABASE, off, or auto: sqlite:/var/lib/flightplan/evidence.db where that "
     "folder exists, else off"},
    {"max_in_flight", &S::max_in_flight, "calls accepted at once; 0: 64 per core", 0, 1'000'000},
    {"max_request_bytes", &S::max_request_bytes, "largest request", 1024, kMaxMessage, true},
    {"max_deadline", &S::max_deadline, "longest time a stream may take", 1, 86'400},
    {"drain_delay", &S::drain_delay, "time to serve on after SIGTERM, while health says NOT_SERVING", 0, 3'600},
    {"drain_timeout", &S::drain_timeout, "time for the calls in flight to end after that", 0, 3'600},
    {"cache_bytes", &S::cache_bytes, "size of the result cache; 0: none", 0, int64_t{1} << 40, true},
    {"probe", &S::probe, "let RunProbe measure this node's GPUs; it holds one for up to 30 s"},
    {"probe_worker", &S::probe_worker, "FILE: the worker; empty: flightplan-probe beside this binary or on the PATH"},
    {"probe_fake", &S::probe_fake, "FILE that the worker replays instead of a GPU, for tests: never evidence"},
    {"profile_dir", &S::profile_dir, "DIR of profiles, one JSON file each; empty: kept in memory"},
    {"profile_max_age", &S::profile_max_age, "age from which a profile is no evidence any more", 60, 315'360'000},
    {"reflection", &S::reflection, "answer gRPC server reflection"},
    {"log_level", &S::log_level, "debug, info, warning or error"},
    {"stop_with_stdin", &S::stop_with_stdin,
     "stop when standard input ends, then remove a unix socket's empty folder; for a program that runs its own server",
     0, 0, false, true},
    {"check_config", &S::check_config, "check settings and catalogue, then exit", 0, 0, false, true},
    {"print_config", &S::print_config, "print the settings in force as a file, then exit", 0, 0, false, true},
    {"help", &S::help, "print this, then exit", 0, 0, false, true},
};

const Row* FindRow(absl::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::vector<absl::string_view> Names(bool in_file) {
  std::vector<absl::string_view> names;
  for (const Row& row : kRows) {
    if (!in_file || !row.flag_only) names.push_back(row.name);
  }
  return names;
}

bool IsBool(const Row& row) { return std::holds_alternative<bool S::*>(row.member); }

constexpr absl::string_view kLevels[] = {"debug", "info", "warning", "error"};
constexpr absl::string_view kModes[] = {"shadow", "warn", "enforce"};

absl::Status Wrong(absl::string_view text, absl::string_view right) {
  return absl::InvalidArgumentError(absl::StrCat("is '", Utf8Prefix(text, 64), "', must be ", right));
}

absl::Status Read(const Row&, absl::string_view text, bool* out) {
  if (absl::SimpleAtob(text, out)) return absl::OkStatus();
  return Wrong(text, "true or false");
}

absl::Status Read(const Row& row, absl::string_view text, int64_t* out) {
  absl::string_view number = text;
  int64_t unit = 1;
  if (row.bytes) {
    constexpr std::pair<absl::string_view, int64_t> kUnits[] = {
        {"KiB", int64_t{1} << 10}, {"MiB", int64_t{1} << 20}, {"GiB", int64_t{1} << 30}, {"B", 1}};
    for (const auto& [suffix, size] : kUnits) {
      if (absl::ConsumeSuffix(&number, suffix)) {
        unit = size;
        break;
      }
    }
  }
  if (absl::SimpleAtoi(absl::StripAsciiWhitespace(number), out) && *out <= row.max / unit && *out * unit >= row.min) {
    *out *= unit;
    return absl::OkStatus();
  }
  return Wrong(text, absl::StrCat(row.bytes ? "a number of bytes such as 64MiB, from " : "a whole number from ",
                                  row.min, " to ", row.max));
}

absl::Status Read(const Row& row, absl::string_view text, absl::Duration* out) {
  if (absl::ParseDuration(text, out) && *out >= absl::Seconds(row.min) && *out <= absl::Seconds(row.max)) {
    return absl::OkStatus();
  }
  return Wrong(text, absl::StrCat("a time such as 5s or 250ms, from ", row.min, "s to ", row.max, "s"));
}

absl::Status Read(const Row&, absl::string_view text, LogLevel* out) {
  const auto* level = std::find(std::begin(kLevels), std::end(kLevels), text);
  if (level == std::end(kLevels)) return Wrong(text, "debug, info, warning or error");
  *out = static_cast<LogLevel>(level - std::begin(kLevels));
  return absl::OkStatus();
}

absl::Status Read(const Row& row, absl::string_view text, std::string* out) {
  if (row.name == "decision_log" && text != "off" && text != "stdout" && !absl::StartsWith(text, "file:/")) {
    return Wrong(text, "off, stdout or file:/PATH");
  }
  if (row.name == "webhook_mode" && std::find(std::begin(kModes), std::end(kModes), text) == std::end(kModes)) {
    return Wrong(text, "shadow, warn or enforce");
  }
  if (row.name == "evidence_store") {
    const absl::Status right = CheckEvidenceLocation(text);
    if (!right.ok()) return Wrong(ShownEvidenceLocation(text), right.message());
  }
  *out = std::string(text);
  return absl::OkStatus();
}

// "https://notebook.example.com:8443". Not "null", which pages of any file and sandbox send.
bool IsOrigin(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "https://") && !absl::ConsumePrefix(&text, "http://")) return false;
  return !text.empty() && text.find_first_of("/?#@ ") == absl::string_view::npos;
}

absl::Status Read(const Row& row, absl::string_view text, std::vector<std::string>* out) {
  if (row.name == "stack_releases" && !absl::StrContains(text, '@')) {
    return Wrong(text, "NAME@VERSION such as megatron-lm@0.17");
  }
  if (row.name == "web_host" && (text.empty() || absl::StrContains(text, '/'))) {
    return Wrong(text, "a name such as flightplan.example.com");
  }
  if (row.name == "web_origin" && !IsOrigin(text)) {
    return Wrong(text, "an origin as browsers send it, such as https://notebook.example.com, without a path");
  }
  if (text.empty()) return Wrong(text, "HOST:PORT or unix:PATH");
  // It has no file whose mode says who may connect, and looks like one that has to the table of tokens.
  if (absl::StartsWith(text, "unix-abstract:"))
    return Wrong(text, "unix:PATH: anybody may connect to an abstract socket");
  out->push_back(std::string(text));
  return absl::OkStatus();
}

absl::Status Set(const Row& row, absl::string_view text, Settings* settings) {
  return std::visit([&](auto member) { return Read(row, text, &(settings->*member)); }, row.member);
}

// A source replaces the lists of the sources below it.
void ClearList(const Row& row, Settings* settings) {
  if (const auto* list = std::get_if<std::vector<std::string> S::*>(&row.member)) (settings->**list).clear();
}

absl::Status Prefixed(absl::string_view where, const absl::Status& status) {
  return status.ok() ? status : absl::InvalidArgumentError(absl::StrCat(where, " ", status.message()));
}

absl::Status ReadFile(const std::string& name, const std::string& text, Settings* settings) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const YamlDocument document, ParseYaml(name, text));
  if (document.root.kind == YamlNode::Kind::kNull) return absl::OkStatus();
  if (document.root.kind != YamlNode::Kind::kMap) {
    return document.Error(document.root, "(file)", "must be a map of settings, such as `listen: 127.0.0.1:50051`");
  }
  FLIGHTPLAN_RETURN_IF_ERROR(document.CheckKeys(document.root, "", Names(/*in_file=*/true)));
  for (const auto& [key, node] : document.root.keys) {
    const Row& row = *FindRow(key);
    const bool is_list = std::holds_alternative<std::vector<std::string> S::*>(row.member);
    ClearList(row, settings);
    const std::vector<YamlNode> one = {node};
    if (!is_list && node.kind != YamlNode::Kind::kScalar) {
      return document.Error(node, key, absl::StrCat("is ", node.Describe(), ", must be one value"));
    }
    for (const YamlNode& item : node.kind == YamlNode::Kind::kList ? node.items : one) {
      if (item.kind != YamlNode::Kind::kScalar) {
        return document.Error(item, key, absl::StrCat("is ", item.Describe(), ", must be one value"));
      }
      if (const absl::Status status = Set(row, item.text, settings); !status.ok()) {
        return document.Error(item, key, status.message());
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ReadEnvironment(const SettingsSources& sources, Settings* settings) {
  for (const Row& row : kRows) {
    if (row.flag_only) continue;
    const std::string name = absl::StrCat("FLIGHTPLAN_", absl::AsciiStrToUpper(row.name));
    const std::optional<std::string> text = sources.env(name);
    if (!text.has_value()) continue;
    ClearList(row, settings);
    const bool is_list = std::holds_alternative<std::vector<std::string> S::*>(row.member);
    for (absl::string_view item : absl::StrSplit(*text, is_list ? ',' : '\0')) {
      FLIGHTPLAN_RETURN_IF_ERROR(Prefixed(name, Set(row, item, settings)));
    }
  }
  return absl::OkStatus();
}

// A flag with its value, in the order given.
using Flags = std::vector<std::pair<const Row*, std::string>>;

absl::StatusOr<Flags> ReadFlags(absl::Span<const std::string> args) {
  Flags flags;
  for (size_t i = 0; i < args.size(); ++i) {
    absl::string_view arg = args[i];
    if (!absl::ConsumePrefix(&arg, "--")) {
      return absl::InvalidArgumentError(absl::StrCat("'", args[i], "' is no flag of serve; flags start with --"));
    }
    const std::vector<absl::string_view> parts = absl::StrSplit(arg, absl::MaxSplits('=', 1));
    std::string name = absl::StrReplaceAll(parts[0], {{"-", "_"}});
    const Row* row = FindRow(name);
    const bool negated = row == nullptr && absl::StartsWith(name, "no") && FindRow(name.substr(2)) != nullptr &&
                         IsBool(*FindRow(name.substr(2)));
    if (negated) row = FindRow(name.substr(2));
    if (row == nullptr) {
      const absl::string_view nearest = NearestName(name, Names(/*in_file=*/false));
      return absl::InvalidArgumentError(
          absl::StrCat("serve has no flag --", name, nearest.empty() ? "" : absl::StrCat("; nearest is --", nearest)));
    }
    if (parts.size() == 2) {
      if (negated) return absl::InvalidArgumentError(absl::StrCat("--", name, " takes no value"));
      flags.emplace_back(row, std::string(parts[1]));
    } else if (IsBool(*row)) {
      flags.emplace_back(row, negated ? "false" : "true");
    } else if (i + 1 < args.size()) {
      flags.emplace_back(row, args[++i]);
    } else {
      return absl::InvalidArgumentError(absl::StrCat("--", name, " needs a value"));
    }
  }
  return flags;
}

absl::Status ApplyFlags(const Flags& flags, Settings* settings) {
  std::vector<const Row*> seen;
  for (const auto& [row, text] : flags) {
    if (std::find(seen.begin(), seen.end(), row) == seen.end()) {
      ClearList(*row, settings);
      seen.push_back(row);
    }
    if (row->name == "evidence_store" && HasPassword(text)) {
      return absl::InvalidArgumentError(
          "--evidence_store has a password, and everyone on this machine can read the flags of a process; put the "
          "password into PGPASSFILE, or the whole address into FLIGHTPLAN_EVIDENCE_STORE");
    }
    FLIGHTPLAN_RETURN_IF_ERROR(Prefixed(absl::StrCat("--", row->name), Set(*row, text, settings)));
  }
  return absl::OkStatus();
}

std::string Show(const Row&, bool value) { return value ? "true" : "false"; }
std::string Show(const Row&, int64_t value) { return absl::StrCat(value); }
std::string Show(const Row&, absl::Duration value) { return absl::FormatDuration(value); }
std::string Show(const Row&, LogLevel value) { return std::string(kLevels[static_cast<size_t>(value)]); }
std::string Show(const Row& row, const std::string& value) {
  return QuotedJson(row.name == "evidence_store" && HasPassword(value) ? ShownEvidenceLocation(value) : value);
}
std::string Show(const Row& row, const std::vector<std::string>& values) {
  return absl::StrCat(
      "[",
      absl::StrJoin(values, ", ",
                    [&](std::string* out, const std::string& value) { absl::StrAppend(out, Show(row, value)); }),
      "]");
}

SettingInfo::Kind KindOf(const Row& row) {
  using Kind = SettingInfo::Kind;
  if (IsBool(row)) return Kind::kSwitch;
  if (std::holds_alternative<std::vector<std::string> S::*>(row.member)) return Kind::kTexts;
  if (std::holds_alternative<absl::Duration S::*>(row.member)) return Kind::kDuration;
  if (std::holds_alternative<int64_t S::*>(row.member)) return row.bytes ? Kind::kBytes : Kind::kNumber;
  return Kind::kText;
}

absl::Span<const absl::string_view> WordsOf(const Row& row) {
  if (std::holds_alternative<LogLevel S::*>(row.member)) return kLevels;
  if (row.name == "webhook_mode") return kModes;
  return {};
}

}  // namespace

absl::StatusOr<Settings> ParseSettings(absl::Span<const std::string> args, const SettingsSources& sources) {
  Settings settings;
  FLIGHTPLAN_ASSIGN_OR_RETURN(const Flags flags, ReadFlags(args));
  for (const auto& [row, text] : flags) {
    if (row->name == "config") settings.config = text;
  }
  if (!settings.config.empty()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string text, sources.file(settings.config));
    FLIGHTPLAN_RETURN_IF_ERROR(ReadFile(settings.config, text, &settings));
  }
  FLIGHTPLAN_RETURN_IF_ERROR(ReadEnvironment(sources, &settings));
  FLIGHTPLAN_RETURN_IF_ERROR(ApplyFlags(flags, &settings));
  if (!settings.help) FLIGHTPLAN_RETURN_IF_ERROR(CheckTogether(settings));
  return settings;
}

std::vector<std::string> OpenToStrangers(const Settings& settings) {
  std::vector<std::string> open;
  if (!settings.tls_client_ca_file.empty()) return open;
  std::copy_if(settings.listen.begin(), settings.listen.end(), std::back_inserter(open),
               [](const std::string& address) { return !IsLoopback(address); });
  return open;
}

std::vector<SettingInfo> SettingsTable() {
  const Settings defaults;
  std::vector<SettingInfo> table;
  for (const Row& row : kRows) {
    table.push_back({row.name, row.help, KindOf(row), WordsOf(row), row.min, row.max,
                     std::visit([&](auto member) { return Show(row, defaults.*member); }, row.member), !row.flag_only});
  }
  return table;
}

std::string SettingsToYaml(const Settings& settings) {
  std::string yaml;
  for (const Row& row : kRows) {
    if (row.flag_only) continue;
    absl::StrAppend(&yaml, row.name, ": ",
                    std::visit([&](auto member) { return Show(row, settings.*member); }, row.member), "\n");
  }
  return yaml;
}

std::string SettingsHelp() {
  const Settings defaults;
  std::string text = "flightplan serve: the gRPC server\n\n";
  for (const Row& row : kRows) {
    absl::StrAppend(&text, "  --", row.name, std::string(20 - std::min<size_t>(19, row.name.size()), ' '), row.help);
    if (!row.flag_only) {
      absl::StrAppend(&text, " (default ", std::visit([&](auto m) { return Show(row, defaults.*m); }, row.member), ")");
    }
    text.push_back('\n');
  }
  absl::StrAppend(&text, "\nA flag wins over FLIGHTPLAN_<FLAG> in the environment, that over --config FILE.\n");
  return text;
}

}  // namespace flightplan::service
