#include "service/settings/settings.h"

#include <map>

#include "gtest/gtest.h"

namespace flightplan::service {
namespace {

struct Surroundings {
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> files;
  SettingsSources Sources() const {
    return {[this](const std::string& name) -> std::optional<std::string> {
              const auto found = env.find(name);
              return found == env.end() ? std::nullopt : std::optional<std::string>(found->second);
            },
            [this](const std::string& path) -> absl::StatusOr<std::string> {
              const auto found = files.find(path);
              if (found == files.end()) return absl::NotFoundError("cannot read " + path);
              return found->second;
            }};
  }
};

std::string ErrorOf(const std::vector<std::string>& args, const Surroundings& around = {}) {
  const auto settings = ParseSettings(args, around.Sources());
  return settings.ok() ? "" : std::string(settings.status().message());
}

TEST(Settings, DefaultsServeOnLoopbackOnly) {
  const Surroundings around;
  const auto settings = ParseSettings({}, around.Sources());
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->listen, std::vector<std::string>{"127.0.0.1:50051"});
  EXPECT_EQ(settings->http_listen, "127.0.0.1:9464");
  EXPECT_EQ(settings->max_request_bytes, 1 << 20);
}

TEST(Settings, FlagWinsOverEnvironmentOverFileOverDefault) {
  Surroundings around;
  around.files["f.yaml"] = "max_in_flight: 1\ncache_bytes: 1MiB\nlog_level: error\n";
  around.env["FLIGHTPLAN_MAX_IN_FLIGHT"] = "2";
  around.env["FLIGHTPLAN_CACHE_BYTES"] = "2MiB";
  const auto settings = ParseSettings({"--config", "f.yaml", "--max_in_flight=3"}, around.Sources());
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->max_in_flight, 3);
  EXPECT_EQ(settings->cache_bytes, 2 << 20);
  EXPECT_EQ(settings->log_level, LogLevel::kError);
  EXPECT_TRUE(settings->reflection);
}

TEST(Settings, AListOfAHigherSourceReplacesTheWholeList) {
  Surroundings around;
  around.files["f.yaml"] = "listen: [127.0.0.1:1, 127.0.0.1:2]\n";
  auto settings = ParseSettings({"--config=f.yaml"}, around.Sources());
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->listen.size(), 2u);
  around.env["FLIGHTPLAN_LISTEN"] = "127.0.0.1:3,unix:/run/x";
  settings = ParseSettings({"--config=f.yaml"}, around.Sources());
  EXPECT_EQ(settings->listen, (std::vector<std::string>{"127.0.0.1:3", "unix:/run/x"}));
  settings = ParseSettings({"--config=f.yaml", "--listen", "localhost:4"}, around.Sources());
  EXPECT_EQ(settings->listen, std::vector<std::string>{"localhost:4"});
}

TEST(Settings, UnknownKeyInAFileIsRefusedWithItsPlaceAndTheNearestKey) {
  Surroundings around;
  around.files["f.yaml"] = "log_level: info\nmax_inflight: 3\n";
  const std::string error = ErrorOf({"--config=f.yaml"}, around);
  EXPECT_NE(error.find("f.yaml:2:1"), std::string::npos) << error;
  EXPECT_NE(error.find("max_in_flight"), std::string::npos) << error;
}

TEST(Settings, WrongValueInAFileIsRefusedWithItsPlace) {
  Surroundings around;
  around.files["f.yaml"] = "max_in_flight: lots\n";
  EXPECT_NE(ErrorOf({"--config=f.yaml"}, around).find("f.yaml:1:16"), std::string::npos)
      << ErrorOf({"--config=f.yaml"}, around);
  around.files["f.yaml"] = "log_level: {a: 1}\n";
  EXPECT_NE(ErrorOf({"--config=f.yaml"}, around).find("f.yaml:1:12"), std::string::npos)
      << ErrorOf({"--config=f.yaml"}, around);
  around.files["f.yaml"] = "- a\n";
  EXPECT_NE(ErrorOf({"--config=f.yaml"}, around).find("f.yaml:1:1"), std::string::npos);
}

TEST(Settings, WrongFlagsAreNamed) {
  EXPECT_NE(ErrorOf({"--max_inflight=3"}).find("--max_in_flight"), std::string::npos);
  EXPECT_NE(ErrorOf({"--max_in_flight"}).find("needs a value"), std::string::npos);
  EXPECT_NE(ErrorOf({"--max_in_flight=-1"}).find("--max_in_flight is '-1'"), std::string::npos);
  EXPECT_NE(ErrorOf({"--drain_delay=5"}).find("5s"), std::string::npos);
  EXPECT_NE(ErrorOf({"--log_level=loud"}).find("debug"), std::string::npos);
  EXPECT_NE(ErrorOf({"--decision_log=file:x"}).find("file:/PATH"), std::string::npos);
  EXPECT_NE(ErrorOf({"stray"}).find("'stray'"), std::string::npos);
  EXPECT_NE(ErrorOf({"--config=missing.yaml"}).find("missing.yaml"), std::string::npos);
}

TEST(Settings, LimitsHoldAtTheLimitAndRefuseOneAbove) {
  EXPECT_EQ(ErrorOf({"--max_request_bytes=1024"}), "");
  EXPECT_NE(ErrorOf({"--max_request_bytes=1023"}), "");
  EXPECT_EQ(ErrorOf({"--max_request_bytes=64MiB"}), "");
  EXPECT_NE(ErrorOf({"--max_request_bytes=67108865"}), "");
  EXPECT_NE(ErrorOf({"--max_request_bytes=99999999999GiB"}), "") << "must not overflow";
  EXPECT_EQ(ErrorOf({"--drain_delay=1h"}), "");
  EXPECT_NE(ErrorOf({"--drain_delay=3601s"}), "");
}

TEST(Settings, BooleansMayBeNegated) {
  const Surroundings around;
  EXPECT_FALSE(ParseSettings({"--noreflection"}, around.Sources())->reflection);
  EXPECT_FALSE(ParseSettings({"--reflection=false"}, around.Sources())->reflection);
  EXPECT_TRUE(ParseSettings({"--reflection"}, around.Sources())->reflection);
}

TEST(Settings, PlaintextBeyondThisMachineMustBeAskedFor) {
  EXPECT_NE(ErrorOf({"--listen=0.0.0.0:50051"}).find("--allow_plaintext"), std::string::npos);
  EXPECT_NE(ErrorOf({"--listen=127.0.0.1.example.com:1"}).find("--allow_plaintext"), std::string::npos);
  EXPECT_NE(ErrorOf({"--listen=0.0.0.0:50051", "--allow_plaintext"}).find("token_file"), std::string::npos);
  EXPECT_EQ(ErrorOf({"--listen=0.0.0.0:50051", "--allow_plaintext", "--token_file=t"}), "");
  EXPECT_EQ(ErrorOf({"--listen=0.0.0.0:50051", "--tls_cert_file=c", "--tls_key_file=k", "--token_file=t"}), "");
  EXPECT_NE(ErrorOf({"--tls_cert_file=c"}), "");
  EXPECT_NE(ErrorOf({"--tls_client_ca_file=c"}), "");
  EXPECT_EQ(ErrorOf({"--listen=unix:/run/flightplan/flightplan.sock"}), "");
  EXPECT_NE(ErrorOf({"--listen=unix-abstract:flightplan"}).find("anybody may connect"), std::string::npos);
  EXPECT_EQ(ErrorOf({"--listen=[::1]:1"}), "");
  for (const char* address : {"localhost", "50051", "::1:50051"}) {
    EXPECT_NE(ErrorOf({absl::StrCat("--listen=", address)})
                  .find("must be HOST:PORT or [HOST]:PORT, PORT from 0 to 65535, or unix:PATH"),
              std::string::npos)
        << address;
  }
}

TEST(Settings, BrowsersBeyondThisMachineMustShowWhoTheyAre) {
  EXPECT_EQ(ErrorOf({"--web_listen=127.0.0.1:8080"}), "");
  for (const char* flag : {"--http_listen", "--health_listen", "--web_listen", "--listen"}) {
    for (const char* port : {"70000", "", "grpc"}) {
      EXPECT_NE(ErrorOf({absl::StrCat(flag, "=127.0.0.1:", port)}).find("PORT from 0 to 65535"), std::string::npos)
          << flag << " " << port;
    }
  }
  EXPECT_EQ(ErrorOf({"--web_listen=localhost:0"}), "");
  EXPECT_NE(ErrorOf({"--web_listen=0.0.0.0:8080"}).find("token_file"), std::string::npos);
  EXPECT_NE(ErrorOf({"--web_listen=0.0.0.0:8080", "--token_file=t"}).find("TLS"), std::string::npos);
  EXPECT_EQ(ErrorOf({"--web_listen=0.0.0.0:8080", "--token_file=t", "--allow_plaintext"}), "");
  EXPECT_EQ(ErrorOf({"--web_listen=0.0.0.0:8080", "--token_file=t", "--tls_cert_file=c", "--tls_key_file=k"}), "");
  for (const char* none : {"8080", "unix:/run/web", "::1:8080"}) {
    EXPECT_NE(ErrorOf({absl::StrCat("--web_listen=", none)}).find("web_listen is '"), std::string::npos) << none;
  }
  EXPECT_EQ(ErrorOf({"--web_listen=127.0.0.1:1", "--web_host=a", "--web_origin=https://b.example.com:1"}), "");
  for (const char* none : {"*", "null", "b.example.com", "https://", "https://b.example.com/", "ftp://b"}) {
    EXPECT_NE(ErrorOf({"--web_listen=127.0.0.1:1", absl::StrCat("--web_origin=", none)}).find("an origin"),
              std::string::npos)
        << none;
  }
}

TEST(Settings, WhatHasNoEffectAloneNeedsTheOther) {
  for (const char* flag : {"--web_host=plan.example.com", "--web_origin=https://b.example.com"}) {
    EXPECT_NE(ErrorOf({flag}).find(" needs web_listen"), std::string::npos) << flag;
  }
  for (const char* flag : {"--webhook_cert_file=c", "--webhook_key_file=k", "--webhook_client_ca_file=ca",
                           "--webhook_mode=enforce", "--webhook_fail_closed", "--stack_releases=megatron-lm@0.17"}) {
    EXPECT_NE(ErrorOf({flag}).find(" needs webhook_listen"), std::string::npos) << flag;
    EXPECT_EQ(ErrorOf({"--webhook_listen=0.0.0.0:1", "--webhook_cert_file=c", "--webhook_key_file=k", flag}), "");
  }
  for (const char* flag : {"--probe_worker=w", "--probe_fake=f"}) {
    EXPECT_NE(ErrorOf({flag}).find(" needs probe"), std::string::npos) << flag;
    EXPECT_EQ(ErrorOf({"--probe", flag}), "");
  }
  EXPECT_NE(ErrorOf({"--quota_file=q"}).find("quota_file needs token_file"), std::string::npos);
  EXPECT_EQ(ErrorOf({"--quota_file=q", "--token_file=t"}), "");
  EXPECT_NE(ErrorOf({"--decision_log_text"}).find("decision_log_text needs decision_log"), std::string::npos);
  EXPECT_EQ(ErrorOf({"--decision_log_text", "--decision_log=stdout"}), "");
}

TEST(Settings, EveryListenerHasAnAddressOfItsOwn) {
  const std::vector<std::string> webhook = {"--webhook_cert_file=c", "--webhook_key_file=k"};
  for (const char* flag : {"--http_listen", "--health_listen", "--web_listen", "--webhook_listen"}) {
    std::vector<std::string> args = {"--listen=127.0.0.1:1", absl::StrCat(flag, "=127.0.0.1:1")};
    if (absl::string_view(flag) == "--webhook_listen") args.insert(args.end(), webhook.begin(), webhook.end());
    EXPECT_NE(ErrorOf(args).find(
                  absl::StrCat(absl::string_view(flag).substr(2), " is '127.0.0.1:1', which listen has already")),
              std::string::npos)
        << ErrorOf(args);
    args[1] = absl::StrCat(flag, "=127.0.0.1:2");
    EXPECT_EQ(ErrorOf(args), "");
  }
  EXPECT_NE(ErrorOf({"--health_listen=127.0.0.1:9464"}).find("which http_listen has already"), std::string::npos);
  EXPECT_NE(ErrorOf({"--listen=unix:/s", "--front_listen=unix:/s", "--token_file=t"}).find("which listen has already"),
            std::string::npos);
  EXPECT_EQ(ErrorOf({"--listen=127.0.0.1:0", "--http_listen=127.0.0.1:0", "--health_listen=127.0.0.1:0"}), "");
}

TEST(Settings, AFrontHasASocketOfItsOwnAndAsksWhoCallersAre) {
  EXPECT_EQ(ErrorOf({"--front_listen=unix:/run/front", "--token_file=t"}), "");
  EXPECT_NE(ErrorOf({"--front_listen=unix:/run/front"}).find("token_file"), std::string::npos);
  for (const char* elsewhere : {"127.0.0.1:1", "unix:relative", "unix-abstract:front"}) {
    EXPECT_NE(ErrorOf({absl::StrCat("--front_listen=", elsewhere), "--token_file=t"}).find("must be unix:/PATH"),
              std::string::npos)
        << elsewhere;
  }
}

TEST(Settings, StrangersMeetGrpcWhereNeitherFrontNorCertificateIsInBetween) {
  Settings settings;
  settings.listen = {"127.0.0.1:1", "unix:/a", "0.0.0.0:2", "[::]:3"};
  EXPECT_EQ(OpenToStrangers(settings), (std::vector<std::string>{"0.0.0.0:2", "[::]:3"}));
  settings.tls_client_ca_file = "clients.pem";
  EXPECT_TRUE(OpenToStrangers(settings).empty());
}

TEST(Settings, PrintedSettingsReadBackTheSame) {
  const Surroundings none;
  const auto settings = ParseSettings({"--listen=127.0.0.1:1", "--listen=unix:/a \"b\"", "--drain_delay=250ms",
                                       "--cache_bytes=1MiB", "--log_level=warning", "--noreflection"},
                                      none.Sources());
  ASSERT_TRUE(settings.ok()) << settings.status();
  Surroundings around;
  around.files["printed.yaml"] = SettingsToYaml(*settings);
  const auto again = ParseSettings({"--config=printed.yaml"}, around.Sources());
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << SettingsToYaml(*settings);
  EXPECT_EQ(SettingsToYaml(*again), SettingsToYaml(*settings));
}

// In the environment or a file it would end a service whose standard input is /dev/null.
TEST(Settings, StopWithStdinIsAFlagAlone) {
  Surroundings around;
  around.env["FLIGHTPLAN_STOP_WITH_STDIN"] = "true";
  EXPECT_FALSE(ParseSettings({}, around.Sources())->stop_with_stdin);
  EXPECT_TRUE(ParseSettings({"--stop_with_stdin"}, around.Sources())->stop_with_stdin);
  around.files["own.yaml"] = "stop_with_stdin: true\n";
  EXPECT_FALSE(ParseSettings({"--config=own.yaml"}, around.Sources()).ok());
}

TEST(Settings, HelpNamesEveryFlag) {
  const std::string help = SettingsHelp();
  for (const char* flag : {"--listen", "--http_listen", "--catalog_dir", "--max_in_flight", "--max_request_bytes",
                           "--max_deadline", "--drain_delay", "--drain_timeout", "--cache_bytes", "--reflection",
                           "--log_level", "--stop_with_stdin", "--check_config", "--print_config", "--config"}) {
    EXPECT_NE(help.find(flag), std::string::npos) << flag;
  }
}

}  // namespace
}  // namespace flightplan::service
