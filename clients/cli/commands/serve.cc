#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "service/server.h"
#include "service/settings/settings.h"
#include "service/settings/settings_schema.h"

namespace flightplan::cli {
namespace {

using service::SettingInfo;

// What the help of a setting begins with where it names a value ("FILE: ...", "HOST:PORT of ..."), or the word for its
// kind.
absl::string_view ValueName(const SettingInfo& info) {
  absl::string_view word = info.help.substr(0, info.help.find_first_of(" ;"));
  while (!word.empty() && word.back() == ':') word.remove_suffix(1);
  const bool named =
      word.size() > 1 && word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ:@") == absl::string_view::npos;
  switch (info.kind) {
    case SettingInfo::Kind::kSwitch:
      return "";
    case SettingInfo::Kind::kText:
    case SettingInfo::Kind::kTexts:
      return named ? word : "VALUE";
    case SettingInfo::Kind::kNumber:
      return "N";
    case SettingInfo::Kind::kBytes:
      return "BYTES";
    case SettingInfo::Kind::kDuration:
      return "TIME";
  }
  return "";
}

// A table's texts live as long as the process.
struct Spelled {
  SettingInfo info;
  std::string flag, help;
};
const std::vector<Spelled>& Settings() {
  static const auto* const kSettings = [] {
    auto* settings = new std::vector<Spelled>();
    for (SettingInfo& info : service::SettingsTable()) {
      if (info.name == "help") continue;  // as every command has it
      const std::string fallback = info.in_file ? absl::StrCat(" (default ", info.fallback, ")") : "";
      settings->push_back({info, absl::StrCat("--", info.name), absl::StrCat(info.help, fallback)});
    }
    return settings;
  }();
  return *kSettings;
}

CommandLine ServeTable() {
  CommandLine table{
      .name = "serve",
      .usage = "flightplan serve [--config FILE] [--SETTING VALUE ...]",
      .summary = "the gRPC server; every setting is a flag, an environment variable and a key of the file",
      .example = "flightplan serve --listen=unix:/run/flightplan/flightplan.sock"};
  FlagGroup settings{.title = "settings"};
  for (const Spelled& setting : Settings()) {
    settings.flags.push_back(
        {setting.flag, ValueName(setting.info), setting.help, {nullptr, KnownWords(setting.info.words)}});
  }
  table.groups.push_back(std::move(settings));
  return table;
}

}  // namespace

std::string ServeConfigSchema() { return service::SettingsSchema(); }

// The server has its own flags, help and output: it runs until it is told to stop.
int RunServe(Arguments args, Context& context) {
  if (context.table != nullptr) {
    *context.table = ServeTable();
    return kExitOk;
  }
  // It outlives whoever reads its logs, and its callers: a write to them is an error then, not the end.
  std::signal(SIGPIPE, SIG_IGN);
  return service::ServeMain(std::vector<std::string>(args.begin(), args.end()));
}

}  // namespace flightplan::cli
