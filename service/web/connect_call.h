// What a request of the Connect protocol says about its call, apart from the message.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "grpcpp/client_context.h"
#include "service/http/http_message.h"
#include "service/web/connect_metadata.h"
#include "service/web/connect_method.h"
#include "service/web/message_codec.h"

namespace flightplan::service {

// What the request says of the message: in its headers, or for GET in its query.
struct ConnectCall {
  const ConnectMethod* method = nullptr;
  Codec codec = Codec::kProto;
  bool gzip_request = false;  // the message is packed; of a stream, those that say so
  bool gzip_answer = false;   // the caller takes it packed
  std::optional<absl::Duration> timeout;
  MetadataList metadata;
  std::string query_message;  // of GET, as it was before it went into the query
  bool get = false;
  bool unread = false;  // the message is left as it is: the caller will be refused
};

// The one HTTP answer of those that are no call at all: 405 another HTTP method, 415 another type of content, 505 a
// stream by HTTP/1.0. Nothing: it is a call.
std::optional<HttpResponse> NoCall(const ConnectMethod& method, const HttpRequest& request);

// INVALID_ARGUMENT: another version of the protocol, a time-out or header that is none, a query that cannot be read;
// UNIMPLEMENTED: packed as we cannot unpack. The request is one that NoCall lets through.
absl::StatusOr<ConnectCall> ReadCall(const ConnectMethod& method, const HttpRequest& request);

// The type of the answer's content: "application/connect+json".
std::string ContentType(const ConnectCall& call);

// Deadline, metadata, and the caller's certificate, for the server to take it for the caller.
void Describe(const ConnectCall& call, const HttpRequest& request, grpc::ClientContext* context);

}  // namespace flightplan::service
