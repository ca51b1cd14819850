// What a run of the caller showed.
#pragma once

#include "resolver/normalize/violations.h"
#include "resolver/plan/intent.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class MeasuredProfile;
}  // namespace v1

// `gpu`: whose peak it states.
MeasuredProfile MeasuredProfileFromMessage(const v1::MeasuredProfile& message, const GpuSystem& gpu,
                                           Violations* violations);

}  // namespace flightplan
