// How the command line reaches a server: in the clear, or by TLS when FLIGHTPLAN_CA_FILE names the authorities to trust
// (FLIGHTPLAN_CERT_FILE and FLIGHTPLAN_KEY_FILE: a certificate of its own). FLIGHTPLAN_TOKEN is its token. All by the
// environment: flags of a process can be read by everybody on the machine.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"

namespace flightplan::cli {

// INVALID_ARGUMENT: the port is none, one of the files cannot be read or has no effect, or the token would go to
// another machine in the clear and FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN is not 1. An HTTP proxy of the environment is used
// by TLS to other machines alone.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address);
// Returns once a call would go out, or fail at once. DEADLINE_EXCEEDED: somebody took the connection and said nothing
// of gRPC, for kServerDeadlineSeconds; a call would wait twice as long, for gRPC's own patience with a handshake.
absl::Status AwaitConnection(grpc::Channel* channel, const std::string& address,
                             std::chrono::system_clock::time_point deadline);
// UNAVAILABLE, of a call that the server did not answer.
absl::Status NoAnswer(const std::string& address, const std::string& why);
// DEADLINE_EXCEEDED, of a call that had kServerDeadlineSeconds.
absl::Status NoAnswerInTime(const std::string& address);
void AddToken(grpc::ClientContext* context);

}  // namespace flightplan::cli
