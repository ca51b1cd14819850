#include "clients/cli/site.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/text.h"
#include "clients/cli/whole_file.h"

namespace flightplan::cli {
namespace {

namespace fs = std::filesystem;

// A folder that holds something else is left as it is: pages of an older catalogue would stay in it unseen.
absl::Status CheckRoom(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return absl::OkStatus();
  if (!fs::is_directory(folder, error)) return absl::InvalidArgumentError(absl::StrCat(folder, " is no folder"));
  const bool empty = fs::is_empty(folder, error);
  if (error) return absl::DataLossError(absl::StrCat(folder, ": ", error.message()));
  if (!empty)
    return absl::InvalidArgumentError(absl::StrCat(folder, " is not empty; a site wants a new or an empty folder"));
  return absl::OkStatus();
}

absl::Status MakeRoom(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::DataLossError(absl::StrCat(folder, ": ", error.message()));
  for (const char* kind : {"rule", "knob", "model", "gpu"}) {
    fs::create_directory(fs::path(folder) / kind, error);
    if (error) return absl::DataLossError(absl::StrCat(folder, "/", kind, ": ", error.message()));
  }
  return absl::OkStatus();
}

}  // namespace

int RunSite(Arguments args, Context& context) {
  BackendOptions where;
  const CommandLine command{
      .name = "site",
      .usage = "flightplan site DIR",
      .summary =
          "the reference as static files in DIR, a new or an empty folder: a page for every rule, knob, decision, "
          "model and "
          "GPU, and a search; opened from a disk or from any web server, without the network beyond it",
      .example = "flightplan site public && python3 -m http.server --directory public",
      .max_positional = 1,
      .groups = {BackendFlags(&where)}};
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  if (parsed.positional.empty()) return Misuse(command, "wants a folder", context);
  const std::string folder = parsed.positional[0];
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);
  const absl::Status room = CheckRoom(folder);
  if (absl::IsInvalidArgument(room)) return Misuse(command, room.message(), context);
  if (!room.ok()) return NotWritten(command, room, context);
  absl::Status written;
  bool made = false;  // with the first page: a server that does not answer leaves nothing
  SiteCount count;
  const absl::Status status = MakeSite(
      **backend,
      [&](const std::string& path, const std::string& text) {
        if (!made) written = MakeRoom(folder);
        made = true;
        if (!written.ok()) return written;
        return written = WriteWholeFile((fs::path(folder) / path).string(), text);
      },
      &count);
  if (!written.ok()) return NotWritten(command, written, context);
  if (!status.ok()) return Failed(command, status, context);
  absl::StrAppend(&context.out, count.pages(), " pages: ", count.rules, " rules and decisions, ", count.knobs,
                  " knobs, ", count.models, " models, ", count.gpus, " GPUs; open ", context.terminal.Shown(folder),
                  "/index.html\n");
  return kExitOk;
}

}  // namespace flightplan::cli
