#include "service/call/idle_streams.h"

#include <algorithm>
#include <utility>

#include "service/local/steady_time.h"

namespace flightplan::service {

uint64_t IdleStreams::Add(Tenant* tenant, std::function<bool(uint64_t id)> give_up) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.emplace(++last_, Idle{SteadyNow(), tenant, std::move(give_up)});
  return last_;
}

void IdleStreams::Remove(uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.erase(id);
}

bool IdleStreams::GiveUpOne() {
  while (true) {
    uint64_t id = 0;
    std::function<bool(uint64_t id)> give_up;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const absl::Duration now = SteadyNow();
      struct Held {
        int streams = 0;
        decltype(idle_)::iterator oldest;
      };
      std::map<Tenant*, Held> of;
      for (auto at = idle_.begin(); at != idle_.end() && now - at->second.since >= kPatience; ++at) {
        Held& held = of[at->second.tenant];
        if (held.streams++ == 0) held.oldest = at;
      }
      if (of.empty()) return false;
      const auto most = std::max_element(
          of.begin(), of.end(), [](const auto& a, const auto& b) { return a.second.streams < b.second.streams; });
      const auto goes = most->second.oldest;
      id = goes->first;
      give_up = std::move(goes->second.give_up);
      idle_.erase(goes);
    }
    if (give_up(id)) return true;
  }
}

}  // namespace flightplan::service
