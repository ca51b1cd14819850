// A profile as one HTML page that needs nothing else: curves, co-run map, the pair's timeline and every row, as SVG and
// tables.
#pragma once

#include <string>

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class HardwareProfile;
}  // namespace v1

namespace cli {

std::string ProbeReport(const v1::HardwareProfile& profile);

}  // namespace cli
}  // namespace flightplan
