#include "resolver/base/path.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace flightplan {

std::string JoinedPath(absl::string_view folder, absl::string_view path) {
  const bool absolute = absl::StartsWith(path, "/") || absl::StartsWith(folder, "/");
  if (absl::StartsWith(path, "/")) folder = "";
  std::vector<absl::string_view> parts;
  for (const absl::string_view whole : {folder, path}) {
    for (const absl::string_view part : absl::StrSplit(whole, '/', absl::SkipEmpty())) {
      if (part == "." || (part == ".." && absolute && parts.empty())) continue;  // above the root is the root
      const bool back = part == ".." && !parts.empty() && parts.back() != "..";
      if (back) {
        parts.pop_back();
      } else {
        parts.push_back(part);
      }
    }
  }
  return absl::StrCat(absolute ? "/" : "", absl::StrJoin(parts, "/"));
}

}  // namespace flightplan
