#include "resolver/rules/bridge/fix_sources_util.h"

#include "resolver/catalog/bridge_fields.h"

namespace flightplan {

void RedirectToBridgeSources(const Config& config, std::vector<Patch>* fixes) {
  for (Patch& patch : *fixes) {
    Patch left_alone;  // an unset source leaves what the other config says, so that goes too
    for (Assignment& assignment : patch) {
      if (!assignment.env_var.empty()) continue;
      const Knob source = BridgeSourceOf(assignment.knob, config);
      if (source != assignment.knob && assignment.value.is_none()) left_alone.push_back(assignment);
      assignment.knob = source;
    }
    patch.insert(patch.end(), left_alone.begin(), left_alone.end());
  }
}

}  // namespace flightplan
