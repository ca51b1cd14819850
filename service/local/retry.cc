#include "service/local/retry.h"

#include "absl/strings/cord.h"
#include "google/rpc/error_details.pb.h"

namespace flightplan::service {
namespace {

constexpr char kRetryPayload[] = "type.googleapis.com/google.rpc.RetryInfo";

}  // namespace

absl::Status WithRetry(absl::Status status, absl::Duration delay) {
  google::rpc::RetryInfo info;
  const timespec parts = absl::ToTimespec(delay);
  info.mutable_retry_delay()->set_seconds(parts.tv_sec);
  info.mutable_retry_delay()->set_nanos(static_cast<int32_t>(parts.tv_nsec));
  status.SetPayload(kRetryPayload, absl::Cord(info.SerializeAsString()));
  return status;
}

absl::Duration RetryDelay(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryPayload);
  google::rpc::RetryInfo info;
  if (!payload.has_value() || !info.ParseFromString(std::string(*payload))) return absl::ZeroDuration();
  return absl::Seconds(info.retry_delay().seconds()) + absl::Nanoseconds(info.retry_delay().nanos());
}

}  // namespace flightplan::service
