// Reads catalogue files into their types and refuses what is wrong.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "resolver/base/yaml.h"
#include "resolver/plan/hardware.h"
#include "resolver/plan/model.h"

namespace flightplan {

struct CatalogEntries {
  std::vector<ModelSpec> models;
  std::vector<GpuSystem> gpus;
};

// Adds the entries of one file: a mapping of the lists `models` and `gpus`, or one of them. An entry replaces one
// of the same name that an earlier file gave; twice in one file is a fault. Messages: "file:line:col: field X: what".
absl::Status LoadCatalogDocument(const YamlDocument& doc, CatalogEntries* entries);
// The same from the file's text.
absl::Status LoadCatalogFile(absl::string_view file, absl::string_view text, CatalogEntries* entries);

}  // namespace flightplan
