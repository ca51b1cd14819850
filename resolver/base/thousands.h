// Counts as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace flightplan {

std::string WithThousands(int64_t number);  // 1,024

}  // namespace flightplan
