// Methods take and give bytes, so that a stored answer is sent as it is and a message that cannot be read gets an
// answer of our own. These are the two directions.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace flightplan::service {

// The message's bytes in one piece. Valid as long as this object.
class RequestBytes {
 public:
  explicit RequestBytes(const grpc::ByteBuffer& buffer) {
    if (!buffer.TrySingleSlice(&slice_).ok() && !buffer.DumpToSingleSlice(&slice_).ok()) slice_ = grpc::Slice();
  }
  absl::string_view view() const {
    return absl::string_view(reinterpret_cast<const char*>(slice_.begin()), slice_.size());
  }

 private:
  grpc::Slice slice_;
};

inline grpc::ByteBuffer BufferOf(const grpc::Slice& slice) { return grpc::ByteBuffer(&slice, 1); }

inline grpc::ByteBuffer BufferOf(const google::protobuf::MessageLite& message) {
  const size_t size = message.ByteSizeLong();
  grpc::Slice slice(size);
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return BufferOf(slice);
}

}  // namespace flightplan::service
