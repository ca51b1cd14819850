// The public face of the library: from a request message to an answer message.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class ResolveConfigRequest;
class ResolveConfigResponse;
class ValidateConfigRequest;
class ValidateConfigResponse;
}  // namespace v1

class Catalog;

// Immutable; every method is const, gives the same answer for the same input, and may be called from many threads.
//
// A wrong configuration is an answer (OK with findings). Errors are for requests without meaning:
//   INVALID_ARGUMENT with a google.rpc.BadRequest payload (kBadRequestPayload) listing all field violations,
//   FAILED_PRECONDITION where a target is not covered, INTERNAL for our own bugs.
class Resolver {
 public:
  explicit Resolver(std::shared_ptr<const Catalog> catalog);
  ~Resolver();

  absl::Status ResolveConfig(const v1::ResolveConfigRequest& request, v1::ResolveConfigResponse* response) const;
  absl::Status ValidateConfig(const v1::ValidateConfigRequest& request, v1::ValidateConfigResponse* response) const;

  const Catalog& catalog() const { return *catalog_; }

 private:
  std::shared_ptr<const Catalog> catalog_;
};

// Status payload url of a serialized google.rpc.BadRequest.
inline constexpr char kBadRequestPayload[] = "type.googleapis.com/google.rpc.BadRequest";

}  // namespace flightplan
