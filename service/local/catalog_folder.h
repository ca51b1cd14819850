// Loads the catalogue together with a site's own files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "resolver/catalog/catalog.h"

namespace flightplan::service {

// The folder's *.yaml files by name, which is the order in which they apply; hidden ones are left out. NOT_FOUND: no
// such folder.
absl::StatusOr<std::vector<CatalogFile>> ReadCatalogFolder(const std::string& folder);

// The built-in catalogue, and on it the *.yaml files of `folder` by name; empty: none. Errors name file and line.
absl::StatusOr<std::shared_ptr<const Catalog>> LoadCatalog(const std::string& folder);

}  // namespace flightplan::service
