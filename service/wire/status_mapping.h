// Maps an absl::Status to its wire form: code, message and google.rpc details.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"
#include "service/local/retry.h"

namespace flightplan::service {

// Trailing metadata travels in HTTP/2 headers, of which a client takes 8 KiB by default, base64 and all other headers
// included: larger details would turn every error into RESOURCE_EXHAUSTED at the client.
inline constexpr size_t kMaxDetailBytes = 4096;
inline constexpr size_t kMaxMessageBytes = 1024;

inline constexpr char kErrorDomain[] = "flightplan";

// Code, message and details: an ErrorInfo whose reason is that of base/reason.h or follows from the code, and every
// payload that is a google.rpc message. Our own faults (INTERNAL, UNKNOWN, DATA_LOSS) show the request id and nothing
// else. Unbounded: for statuses inside a message.
google::rpc::Status ToRpcStatus(const absl::Status& status, absl::string_view request_id);

// The same, cut to what fits into trailing metadata; what is cut is counted in ErrorInfo's metadata.
grpc::Status ToGrpcStatus(const absl::Status& status, absl::string_view request_id);

// INVALID_ARGUMENT: the bytes are no message of this type.
absl::Status MalformedRequest(absl::string_view message_type);
// RESOURCE_EXHAUSTED with reason QUOTA_EXCEEDED and google.rpc.QuotaFailure. `limit` says what it is and what to do.
absl::Status OverQuota(absl::string_view tenant, absl::string_view limit);

}  // namespace flightplan::service
