// Between HTTP headers and gRPC metadata. Names are lower case, values of "-bin" names are base64 outside and bytes
// inside.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "grpcpp/support/string_ref.h"
#include "service/http/http_message.h"

namespace flightplan::service {

using MetadataList = std::vector<std::pair<std::string, std::string>>;

// What a call takes along of a request's headers: all but those that belong to HTTP, to the Connect protocol, to gRPC
// or to ourselves, which a caller does not set. INVALID_ARGUMENT names a header that metadata cannot carry.
absl::StatusOr<MetadataList> MetadataOf(const std::vector<HttpHeader>& headers);

// What a server said, less what is gRPC's own.
MetadataList ShownMetadata(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata);

// Padded or not, of the usual or the URL's alphabet. False: it is neither.
bool FromBase64(absl::string_view text, std::string* bytes);
std::string ToBase64(absl::string_view bytes);  // without padding

}  // namespace flightplan::service
