#include "service/catalog_folder.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "service/settings.h"

namespace flightplan::service {

absl::StatusOr<std::shared_ptr<const Catalog>> LoadCatalog(const std::string& folder) {
  std::vector<CatalogFile> files;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(folder.empty() ? nullptr : opendir(folder.c_str()),
                                                      [](DIR* open) { return open == nullptr ? 0 : closedir(open); });
  if (directory == nullptr && !folder.empty()) {
    return absl::NotFoundError(absl::StrCat("catalogue folder ", folder, ": ", std::strerror(errno)));
  }
  while (const dirent* entry = directory == nullptr ? nullptr : readdir(directory.get())) {
    if (absl::EndsWith(entry->d_name, ".yaml")) files.push_back({absl::StrCat(folder, "/", entry->d_name), ""});
  }
  std::sort(files.begin(), files.end(), [](const CatalogFile& a, const CatalogFile& b) { return a.name < b.name; });
  for (CatalogFile& file : files) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(file.text, ProcessSources().file(file.name));
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(Catalog catalog, Catalog::WithOverlay(files));
  return std::make_shared<const Catalog>(std::move(catalog));
}

}  // namespace flightplan::service
