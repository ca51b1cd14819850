// The configuration a target starts from when nothing is written: upstream's class defaults.
#pragma once

#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"

namespace flightplan {

// Every knob the release has holds its default with Origin::kDefault; the others are kAbsent. Built once per
// (target, releases, mla) and shared; thread-safe.
const Config& DefaultsFor(Target target, int core_release, int bridge_release, bool mla);

}  // namespace flightplan
