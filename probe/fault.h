// A worker that misbehaves on purpose, for tests of whoever supervises it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "probe/protocol.h"

namespace flightplan::probe {

// Writes as LineWriter does until the third row, then does what `fault` says (options.h). Standard output.
std::unique_ptr<LineWriter> MakeFaultyWriter(const std::string& fault, std::atomic<bool>* gone);

}  // namespace flightplan::probe
