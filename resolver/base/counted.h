// A count of holders for immutable things that are shared between copies and between threads.
#pragma once

#include <atomic>

namespace flightplan {

class Counted {
 public:
  void Hold() const {
    if (!forever()) holders_.fetch_add(1, std::memory_order_relaxed);
  }
  // True when the last holder let go: the caller deletes it.
  bool Drop() const { return !forever() && holders_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  // True when nobody but the caller holds it.
  bool Unshared() const { return holders_.load(std::memory_order_acquire) == 1; }
  // Not counted from now on and never deleted. To be called before other threads see it.
  void KeepForever() const { holders_.store(kForever, std::memory_order_relaxed); }

 private:
  static constexpr int kForever = -1;
  bool forever() const { return holders_.load(std::memory_order_relaxed) == kForever; }
  mutable std::atomic<int> holders_{1};
};

}  // namespace flightplan
