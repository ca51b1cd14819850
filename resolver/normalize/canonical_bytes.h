// A message as bytes that only its content decides: map entries in key order. For digests, replay and comparisons.
#pragma once

#include <string>

#include "google/protobuf/message_lite.h"

namespace flightplan {

std::string CanonicalBytes(const google::protobuf::MessageLite& message);

}  // namespace flightplan
