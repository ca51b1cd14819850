#include "resolver/stacks/megatron_bridge/notes.h"

#include <utility>

namespace flightplan {

ParseFinding NotJudgedNote(const SourcePosition& at, const std::string& seen, std::string needs, size_t most_bytes) {
  return MakeParseFinding(at, "input.not-judged", Severity::kInfo, Printable(seen, most_bytes), std::move(needs),
                          "Megatron-Bridge:src/megatron/bridge/training/utils/omegaconf_utils.py:135");
}

}  // namespace flightplan
