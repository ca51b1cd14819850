#include "resolver/rules/bridge/fix_sources_util.h"

#include "resolver/catalog/bridge_fields.h"

namespace flightplan {

void RedirectToBridgeSources(const Config& config, std::vector<Patch>* fixes) {
  for (Patch& patch : *fixes) {
    for (Assignment& assignment : patch) {
      if (assignment.env_var.empty()) assignment.knob = BridgeSourceOf(assignment.knob, config);
    }
  }
}

}  // namespace flightplan
