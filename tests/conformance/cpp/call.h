// Makes the call of a case and gives the facts of its answer.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tests/conformance/conformance.pb.h"
#include "tests/conformance/cpp/facts.h"

namespace grpc {
class Channel;
}

namespace flightplan::conformance {

// By the C++ stubs.
Facts CallByStub(const Case& test, const std::shared_ptr<grpc::Channel>& channel);

// By the command line at `program`, asking `server`. An error says what it printed, or how it ended, that was not
// wanted.
absl::StatusOr<Facts> CallByProgram(const Case& test, const std::string& program, const std::string& server);

}  // namespace flightplan::conformance
