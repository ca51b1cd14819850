#include "service/call/held_bytes.h"

namespace flightplan::service {

void HeldBytes::Add(Tenant* tenant, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  bytes_ += bytes;
  if (tenant != nullptr) of_[tenant] += bytes;
}

void HeldBytes::Remove(Tenant* tenant, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  bytes_ -= bytes;
  if (tenant != nullptr) of_[tenant] -= bytes;
}

bool HeldBytes::HasRoom(Tenant* tenant) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes_ >= most_) return false;
  const auto own = of_.find(tenant);
  return own == of_.end() || own->second < most_ / kShares;
}

size_t HeldBytes::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

}  // namespace flightplan::service
