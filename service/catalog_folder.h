// The catalogue with a site's own files.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace flightplan {
class Catalog;
namespace service {

// The built-in catalogue, and on it the *.yaml files of `folder` by name; empty: none. Errors name file and line.
absl::StatusOr<std::shared_ptr<const Catalog>> LoadCatalog(const std::string& folder);

}  // namespace service
}  // namespace flightplan
