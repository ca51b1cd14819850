// A GPU system as a message.
#pragma once

#include "resolver/plan/hardware.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class GpuSystem;
}

// The message must be empty.
void GpuToMessage(const GpuSystem& gpu, v1::GpuSystem* message);

}  // namespace flightplan
