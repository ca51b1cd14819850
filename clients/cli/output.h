// Machine-readable output.
#pragma once

#include <string>

#include "google/protobuf/message.h"

namespace flightplan::cli {

// Protobuf JSON of a message with the fields' own names ("accepted_by_stack"), zero values included, and a new line.
// 64-bit integers are text, as protobuf JSON has it.
enum class Zeros { kWritten, kLeftOut };  // kLeftOut: of a form, in which a zero says nothing
std::string ToJson(const google::protobuf::Message& message, Zeros zeros = Zeros::kWritten);

}  // namespace flightplan::cli
