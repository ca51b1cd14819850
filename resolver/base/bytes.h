// The units that bytes are read in.
#pragma once

namespace flightplan {

inline constexpr double kMib = 1024.0 * 1024.0;
inline constexpr double kGib = 1024.0 * kMib;

}  // namespace flightplan
