// A LoongForge launch names its model (--model-name) and leaves the architecture to that model's YAML. Where the
// catalogue has the model, its architecture stands in for the file.
#pragma once

#include "resolver/catalog/catalog.h"
#include "resolver/read_config.h"

namespace flightplan {

// Fills what the launch left unsaid; a flag that says another size than the model gets a note, because the YAML wins
// there. A model that the catalogue lacks is noted in `reading`. Does nothing for other targets.
void ApplyNamedModel(const Catalog& catalog, const Environment& env, Reading* reading, Config* config);

}  // namespace flightplan
