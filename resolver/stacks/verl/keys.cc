#include "resolver/stacks/verl/keys.h"

#include <algorithm>

namespace flightplan {

VerlKey FindVerlKey(absl::string_view path) {
  const absl::Span<const VerlKeyRow> rows = VerlKeyRows();
  const auto found =
      std::lower_bound(rows.begin(), rows.end(), path,
                       [](const VerlKeyRow& row, absl::string_view wanted) { return row.path < wanted; });
  return found == rows.end() || found->path != path ? VerlKey::kNone : found->kind;
}

std::vector<absl::string_view> VerlPaths() {
  std::vector<absl::string_view> paths;
  for (const VerlKeyRow& row : VerlKeyRows()) paths.push_back(row.path);
  return paths;
}

}  // namespace flightplan
