// What a question does not say of its software.
#pragma once

#include "flightplan/v1/hardware.pb.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// What the question does not say of the software is as in the stack's own image (catalog/images.yaml), for gates and
// decisions alike, and one finding says so. `said`: what it says, which `intent` has already.
void AssumeImage(const v1::SoftwareStack& said, NormalizedIntent* intent);

}  // namespace flightplan
