#include "service/local/catalog_folder.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "service/local/process_sources.h"

namespace flightplan::service {

absl::StatusOr<std::vector<CatalogFile>> ReadCatalogFolder(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(folder.c_str()),
                                                      [](DIR* open) { return open == nullptr ? 0 : closedir(open); });
  if (directory == nullptr) {
    return absl::NotFoundError(absl::StrCat("cannot open folder ", folder, ": ", std::strerror(errno)));
  }
  std::vector<CatalogFile> files;
  while (const dirent* entry = readdir(directory.get())) {
    const absl::string_view name = entry->d_name;
    if (absl::EndsWith(name, ".yaml") && name[0] != '.') files.push_back({absl::StrCat(folder, "/", name), ""});
  }
  std::sort(files.begin(), files.end(), [](const CatalogFile& a, const CatalogFile& b) { return a.name < b.name; });
  for (CatalogFile& file : files) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(file.text, ProcessSources().file(file.name));
  }
  return files;
}

absl::StatusOr<std::shared_ptr<const Catalog>> LoadCatalog(const std::string& folder) {
  absl::StatusOr<std::vector<CatalogFile>> files = std::vector<CatalogFile>();
  if (!folder.empty()) files = ReadCatalogFolder(folder);
  if (!files.ok()) return absl::Status(files.status().code(), absl::StrCat("catalog_dir: ", files.status().message()));
  FLIGHTPLAN_ASSIGN_OR_RETURN(Catalog catalog, Catalog::WithOverlay(*files));
  return std::make_shared<const Catalog>(std::move(catalog));
}

}  // namespace flightplan::service
