// A device that replays recorded or made-up samples (README.md, "Fake device"). All of its rows are synthetic.
#pragma once

#include <memory>
#include <string>

#include "probe/device/device.h"

namespace flightplan::probe {

// kBadOption: the file cannot be read, or is none of ours; the message says what and where.
Status OpenFakeDevice(const std::string& file, std::unique_ptr<Device>* device);

// The same from text. `name` stands in messages.
Status ParseFakeDevice(const std::string& name, const std::string& text, std::unique_ptr<Device>* device);

}  // namespace flightplan::probe
