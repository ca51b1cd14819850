// The words of a converted launch that hold no knob.
#pragma once

#include <vector>

#include "resolver/judge/convert_config.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// Words of the source that hold no knob: paths, logging, data. The same stack takes them as they are; for another they
// are returned, since nobody else will miss them. A knob whose value cannot be read here is, too.
std::vector<ConvertedKnob> CarryOtherFlags(const Reading& reading, const Environment& from, const Environment& to,
                                           Launch* launch);

}  // namespace flightplan
