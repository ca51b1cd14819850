#include "clients/cli/stack_files.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "clients/cli/command.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"

namespace flightplan::cli {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kModels = "configs/models/";
constexpr int kMaxRounds = 16;  // a file names files, which name files
constexpr int kMaxFiles = 64;   // of a request
constexpr size_t kMaxBytes = size_t{1} << 20;

bool IsBelow(const fs::path& path, const fs::path& root) {
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
}

// Empty: no such file that a launch may name lies below `root`.
fs::path FileAt(const fs::path& root, const fs::path& path) {
  std::error_code error;
  const fs::path found = fs::canonical(path, error);
  const bool named = found.extension() == ".yaml" || found.extension() == ".yml" || found.extension() == ".sh" ||
                     found.extension() == ".py";
  return !error && named && IsBelow(found, root) && fs::is_regular_file(found, error) ? found : fs::path();
}

// The file below `root` that a launch means by `path`, wherever its own checkout lies; empty: there is none. Looked for
// at `root`, then in `folders`, those of the launch and of the files that were found; a sourced script then by as much
// of its path as is there.
fs::path Find(const fs::path& root, absl::Span<const fs::path> folders, const std::string& path) {
  const size_t models = absl::string_view(path).rfind(kModels);
  const fs::path named = models != absl::string_view::npos ? fs::path(path.substr(models)) : fs::path(path);
  fs::path found = FileAt(root, root / fs::path(path));  // an absolute path stands for itself
  if (found.empty()) found = FileAt(root, root / named);
  for (const fs::path& folder : folders) {
    if (found.empty()) found = FileAt(root, folder / named);
  }
  if (!found.empty() || named.extension() != ".sh") return found;
  for (auto part = named.begin(); found.empty() && part != named.end(); ++part) {
    fs::path rest;
    for (auto it = std::next(part); it != named.end(); ++it) rest /= *it;
    if (!rest.empty()) found = FileAt(root, root / rest);
  }
  return found;
}

size_t Bytes(const v1::ValidateConfigRequest& request) {
  size_t bytes = 0;
  for (const v1::TextFile& file : request.model_files()) bytes += file.name().size() + file.text().size();
  return bytes;
}

bool IsThere(const v1::ValidateConfigRequest& request, const std::string& name) {
  return std::any_of(request.model_files().begin(), request.model_files().end(),
                     [&name](const v1::TextFile& file) { return file.name() == name; });
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ValidateWithFiles(const std::string& root, Backend& backend,
                                                           v1::ValidateConfigRequest* request,
                                                           v1::ValidateConfigResponse* response) {
  std::vector<std::string> missing;
  std::error_code error;
  const fs::path folder = root.empty() ? fs::path() : fs::canonical(root, error);
  if (error || (!root.empty() && !fs::is_directory(folder, error))) {
    return absl::NotFoundError(absl::StrCat("--stack-root: ", root, " is no folder"));
  }
  std::vector<fs::path> folders = {fs::absolute(request->file().name(), error).parent_path()};
  for (int round = 0;; ++round) {
    FLIGHTPLAN_RETURN_IF_ERROR(backend.ValidateConfig(*request, response));
    missing.clear();
    if (root.empty()) return missing;
    bool added = false;
    for (const std::string& path : response->wanted_files()) {
      const fs::path found = Find(folder, folders, path);
      if (found.empty() || IsThere(*request, path)) {
        missing.push_back(path);
        continue;
      }
      FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string text, ReadInput(found.string()));
      if (round >= kMaxRounds || request->model_files_size() >= kMaxFiles ||
          Bytes(*request) + text.size() > kMaxBytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("--stack-root: the launch leads to more than ", kMaxFiles, " files or 1 MiB"));
      }
      folders.push_back(found.parent_path());
      v1::TextFile* file = request->add_model_files();
      file->set_name(path);
      file->set_text(text);
      added = true;
    }
    if (!added) return missing;
  }
}

std::string MissingFilesNote(const std::string& root, const std::vector<std::string>& missing) {
  if (missing.empty()) return "";
  return absl::StrCat("not found below ", root, ": ", absl::StrJoin(missing, ", "),
                      "; judged by what is built in, if anything is\n");
}

}  // namespace flightplan::cli
