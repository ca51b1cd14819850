// Limits the memory of answers that their callers have not read yet. The process has one budget and a tenant a tenth of
// it, so that slow readers take nothing from the others.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace flightplan::service {

class Tenant;

class HeldBytes {
 public:
  explicit HeldBytes(size_t most) : most_(most) {}

  // Bytes more or fewer of this tenant; null: callers are not asked who they are, and all of it is
  // everybody's. Tenants live for good.
  void Add(Tenant* tenant, size_t bytes);
  void Remove(Tenant* tenant, size_t bytes);
  // Whether this tenant may hold more.
  bool HasRoom(Tenant* tenant) const;
  size_t bytes() const;

 private:
  static constexpr size_t kShares = 10;

  const size_t most_;
  mutable std::mutex mutex_;
  size_t bytes_ = 0;  // guarded by mutex_, as what follows
  std::map<Tenant*, size_t> of_;
};

}  // namespace flightplan::service
