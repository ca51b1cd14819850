// The streams that hold a place of calls and neither send nor read anything. Where a place is wanted, one of the tenant
// that holds the most such places goes, and there the one that has kept the server waiting for longest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "absl/time/time.h"

namespace flightplan::service {

class Tenant;

class IdleStreams {
 public:
  // A client that thinks between its questions is not idle yet.
  static constexpr absl::Duration kPatience = absl::Seconds(1);

  // From now on a stream waits for its caller, who is of that tenant. `give_up` ends it, and leaves its place; false:
  // it waits no longer, or anew.
  uint64_t Add(Tenant* tenant, std::function<bool(uint64_t id)> give_up);
  void Remove(uint64_t id);
  // Ends one. False: none has waited for kPatience. Not to be called with a stream's lock held.
  bool GiveUpOne();

 private:
  struct Idle {
    absl::Duration since;  // as SteadyNow counts
    Tenant* tenant;        // null: nobody is asked who they are
    std::function<bool(uint64_t id)> give_up;
  };

  std::mutex mutex_;
  std::map<uint64_t, Idle> idle_;  // guarded by mutex_; the first has waited for longest
  uint64_t last_ = 0;              // guarded by mutex_
};

}  // namespace flightplan::service
