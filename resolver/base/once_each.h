// Values of a fixed set of keys, each made when it is first asked for.
#pragma once

#include <map>
#include <memory>

#include "absl/base/call_once.h"

namespace flightplan {

// Safe to ask from any thread; a value lives as long as the set.
template <typename Key, typename Value>
class OnceEach {
 public:
  void Add(const Key& key) { slots_.try_emplace(key); }

  // `key` is one of those that were added. `make()` returns a unique_ptr and is called once for a key.
  template <typename Make>
  const Value& At(const Key& key, const Make& make) const {
    const Slot& slot = slots_.at(key);
    absl::call_once(slot.once, [&] { slot.value = make(); });
    return *slot.value;
  }

 private:
  struct Slot {
    mutable absl::once_flag once;
    mutable std::unique_ptr<const Value> value;
  };
  std::map<Key, Slot> slots_;
};

}  // namespace flightplan
