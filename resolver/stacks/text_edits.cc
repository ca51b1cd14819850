#include "resolver/stacks/text_edits.h"

namespace flightplan {

std::string Applied(const DisjointEdits<TextEdit>& edits, absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  edits.Apply(
      text.size(), [&](size_t begin, size_t end) { out.append(text.data() + begin, end - begin); },
      [&](const TextEdit& edit) { out.append(edit.text); });
  return out;
}

}  // namespace flightplan
