// Errors as the Connect protocol writes them.
#pragma once

#include <string>

#include "grpcpp/support/status.h"
#include "service/web/connect_metadata.h"

namespace flightplan::service {

// {"code": ..., "message": ..., "details": [...]}: the details of a google.rpc.Status in `status`, each as type and
// base64, and under "debug" as JSON where its type is known here. `status` is an error.
std::string ErrorJson(const grpc::Status& status);

// The last envelope's message of a stream: {"error": ..., "metadata": ...}, each only where there is one.
std::string EndOfStreamJson(const grpc::Status& status, const MetadataList& trailers);

}  // namespace flightplan::service
