#include "clients/cli/batch.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "clients/cli/command.h"
#include "clients/cli/own_flags.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/shell/slurm_job.h"

namespace flightplan::cli {
namespace {

constexpr absl::string_view kEndings[] = {".sh", ".bash", ".sbatch", ".slurm", ".yaml", ".yml"};
constexpr int kMaxFolderDepth = 32;

bool IsLaunchFile(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&lower](absl::string_view ending) { return absl::EndsWith(lower, ending); });
}

absl::Status TooMany() {
  return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxBatchFiles, " files; name smaller folders"));
}

absl::Status Walk(const std::string& folder, int depth, std::set<std::string>* paths) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(folder.c_str()), closedir);
  if (dir == nullptr) return absl::InvalidArgumentError(absl::StrCat("cannot open folder ", folder));
  while (const dirent* entry = readdir(dir.get())) {
    const std::string name = entry->d_name;
    if (name[0] == '.') continue;
    const std::string path = absl::EndsWith(folder, "/") ? absl::StrCat(folder, name) : absl::StrCat(folder, "/", name);
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) continue;  // gone since
    if (S_ISDIR(info.st_mode)) {
      if (depth < kMaxFolderDepth) FLIGHTPLAN_RETURN_IF_ERROR(Walk(path, depth + 1, paths));
    } else if (IsLaunchFile(name)) {
      paths->insert(path);
    }
    if (paths->size() > kMaxBatchFiles) return TooMany();
  }
  return absl::OkStatus();
}

absl::Status AddNamed(const std::string& named, std::set<std::string>* paths, std::set<std::string>* files) {
  struct stat info {};
  if (stat(named.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return Walk(named, 0, paths);
  paths->insert(named);
  files->insert(named);
  return paths->size() > kMaxBatchFiles ? TooMany() : absl::OkStatus();
}

// A pipe or a device could block for ever; only plain files are opened.
absl::StatusOr<std::string> ReadScript(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return absl::NotFoundError("no such file");
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError("not a plain file");
  if (static_cast<size_t>(info.st_size) > kMaxFileBytes) return absl::InvalidArgumentError("larger than 1 MiB");
  return ReadInput(path);
}

// What the text says of itself into the request, under what `stack` says of all.
absl::Status AddOwnFlags(absl::string_view text, const StackOptions& stack, absl::Span<const std::string> releases,
                         v1::ValidateConfigRequest* request) {
  if (!FindOwnFlags(text).has_value()) return absl::OkStatus();
  FLIGHTPLAN_ASSIGN_OR_RETURN(StackOptions own, WithOwnFlags(text, stack));
  for (const std::string& release : releases) {  // of a stack that is named, as of one that is told
    if (stack.target.empty() && absl::StartsWith(release, absl::StrCat(own.target, "@"))) own.target = release;
  }
  v1::ValidateConfigRequest asked;
  asked.set_input_format(request->input_format());
  FLIGHTPLAN_RETURN_IF_ERROR(BuildValidateRequest(own, /*read=*/nullptr, &asked));
  FLIGHTPLAN_RETURN_IF_ERROR(AddPins(own.pins, asked.mutable_stated_knobs()));
  *request = std::move(asked);
  return absl::OkStatus();
}

}  // namespace

BatchTotals TotalsOf(const std::vector<BatchItem>& items) {
  BatchTotals totals;
  for (const BatchItem& item : items) {
    switch (item.review.verdict) {
      case doors::Verdict::kAllowed:
        ++totals.allowed;
        break;
      case doors::Verdict::kWarned:
        ++totals.warned;
        break;
      case doors::Verdict::kRefused:
        ++totals.refused;
        break;
      case doors::Verdict::kNotJudged:
        ++totals.not_judged;
        break;
    }
  }
  return totals;
}

absl::StatusOr<BatchFiles> BatchPaths(absl::Span<const std::string> named) {
  std::set<std::string> paths;
  BatchFiles files;
  for (const std::string& name : named) {
    absl::string_view list = name;
    if (!absl::ConsumePrefix(&list, "@")) {
      FLIGHTPLAN_RETURN_IF_ERROR(AddNamed(name, &paths, &files.named));
      continue;
    }
    FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string text, ReadInput(std::string(list)));
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      line = absl::StripAsciiWhitespace(line);
      if (!line.empty() && line[0] != '#')
        FLIGHTPLAN_RETURN_IF_ERROR(AddNamed(std::string(line), &paths, &files.named));
    }
  }
  files.paths.assign(paths.begin(), paths.end());
  return files;
}

absl::Status ReviewBatch(const v1::ValidateConfigRequest& base, const StackOptions& stack,
                         absl::Span<const std::string> releases, const std::vector<std::string>& paths,
                         Backend& backend, const std::function<void(size_t done)>& progress,
                         std::vector<BatchItem>* items) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::shared_ptr<const Catalog> catalog, backend.GetCatalog());
  size_t done = 0;
  for (size_t begin = 0; begin < paths.size(); begin += kBatchChunk) {
    std::vector<v1::ValidateConfigRequest> requests;
    std::vector<size_t> places;  // of each request among the items
    std::vector<doors::Question> questions;
    for (size_t i = begin; i < std::min(paths.size(), begin + kBatchChunk); ++i) {
      items->push_back({paths[i], {}});
      v1::ValidateConfigRequest request = base;
      doors::Question question;
      absl::StatusOr<std::string> text = ReadScript(paths[i]);
      if (text.ok()) {
        if (absl::Status status = AddOwnFlags(*text, stack, releases, &request); !status.ok()) text = std::move(status);
      }
      if (text.ok()) {
        const doors::JobFacts job = doors::FactsOf(ReadSbatchLines(*text));
        question = doors::AskAboutScript(paths[i], *std::move(text), job, releases, *catalog, &request);
      } else {
        items->back().fault = std::string(text.status().message());
        question.skip = doors::Skip{items->back().fault, /*unread=*/true};
      }
      if (question.skip.has_value()) {
        items->back().review = doors::NotAsked(*question.skip);
        progress(++done);
        continue;
      }
      requests.push_back(std::move(request));
      places.push_back(i);
      questions.push_back(std::move(question));
    }
    FLIGHTPLAN_RETURN_IF_ERROR(backend.ValidateBatch(
        requests, [&](size_t index, const absl::Status& status, const v1::ValidateConfigResponse& response) {
          BatchItem& item = (*items)[places[index]];
          item.review = status.ok() ? doors::ReviewOf(questions[index], response) : doors::Unread(status.message());
          if (!status.ok()) item.fault = std::string(status.message());
          progress(++done);
        }));
  }
  return absl::OkStatus();
}

}  // namespace flightplan::cli
