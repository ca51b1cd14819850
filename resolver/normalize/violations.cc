#include "resolver/normalize/violations.h"

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"

namespace flightplan {
namespace {

constexpr size_t kMaxViolations = 100;

}  // namespace

void Violations::Add(absl::string_view field, absl::string_view description) {
  if (items_.size() >= kMaxViolations) {
    ++left_out_;
    return;
  }
  items_.emplace_back(field, description);
}

absl::Status Violations::ToStatus() const {
  if (items_.empty()) return absl::OkStatus();
  google::rpc::BadRequest details;
  for (const auto& [field, description] : items_) {
    auto* violation = details.add_field_violations();
    violation->set_field(field);
    violation->set_description(description);
  }
  std::string message = absl::StrCat(items_[0].first, ": ", items_[0].second);
  if (items_.size() > 1) absl::StrAppend(&message, " (and ", items_.size() - 1 + left_out_, " more)");
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kBadRequestPayload, absl::Cord(details.SerializeAsString()));
  return status;
}

absl::Status WithFieldsBelow(absl::string_view path, absl::Status status) {
  google::rpc::BadRequest details;
  const auto payload = status.GetPayload(kBadRequestPayload);
  if (!payload.has_value() || !details.ParseFromString(std::string(*payload))) return status;
  // The message begins with the first field.
  absl::Status moved(status.code(), absl::StrCat(path, ".", status.message()));
  for (auto& violation : *details.mutable_field_violations()) {
    violation.set_field(absl::StrCat(path, ".", violation.field()));
  }
  moved.SetPayload(kBadRequestPayload, absl::Cord(details.SerializeAsString()));
  return moved;
}

}  // namespace flightplan
