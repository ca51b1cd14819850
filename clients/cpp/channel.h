// A channel to a Flightplan server, with the retries and time-outs that all clients share.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

namespace flightplan {

// `address`: HOST:PORT or unix:PATH. Without credentials the connection is plain text, which a server takes on loopback
// and unix sockets. A call without a deadline of its own has 5 s (searches and batches 120 s); UNAVAILABLE is tried
// again once. In plain text a call with a token (metadata `authorization`) to another machine ends with UNAUTHENTICATED
// before anything is sent, unless FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN is 1 in the environment. An HTTP proxy of the
// environment is used by TLS to other machines alone.
std::shared_ptr<grpc::Channel> MakeChannel(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials = grpc::InsecureChannelCredentials());

}  // namespace flightplan
