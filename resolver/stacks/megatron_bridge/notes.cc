#include "resolver/stacks/megatron_bridge/notes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace flightplan {

std::string FirstNames(const std::vector<std::string>& names, absl::string_view separator, size_t most) {
  const size_t shown = std::min(names.size(), most);
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(shown);
  return absl::StrCat(absl::StrJoin(names.begin(), end, separator),
                      shown < names.size() ? absl::StrCat(separator, "...") : "");
}

ParseFinding NotJudgedNote(const SourcePosition& at, const std::string& seen, std::string needs, size_t most_bytes) {
  return MakeParseFinding(at, "input.not-judged", Severity::kInfo, Printable(seen, most_bytes), std::move(needs),
                          "Megatron-Bridge:src/megatron/bridge/training/utils/omegaconf_utils.py:135");
}

}  // namespace flightplan
