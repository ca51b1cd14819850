// Between the two encodings of a message: protobuf's bytes, which handlers take and give, and JSON.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/util/type_resolver.h"

namespace flightplan::service {

enum class Codec { kProto, kJson };

class MessageCodec {
 public:
  // Messages of `pool`, which must outlive this object.
  explicit MessageCodec(const google::protobuf::DescriptorPool* pool);

  // INVALID_ARGUMENT with google.rpc.BadRequest, which names the field: no JSON, a field that is not known, a value of
  // another type.
  absl::StatusOr<std::string> FromJson(const google::protobuf::Descriptor& type, absl::string_view json) const;
  // INTERNAL: the bytes are no such message.
  absl::StatusOr<std::string> ToJson(const google::protobuf::Descriptor& type, absl::string_view bytes) const;

 private:
  const std::unique_ptr<google::protobuf::util::TypeResolver> types_;
};

}  // namespace flightplan::service
