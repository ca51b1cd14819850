// Runs at most one computation per key. Concurrent callers with the same key wait for it and share its result.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "resolver/base/work.h"

namespace flightplan::service {

template <class T>
class SingleFlight {
 public:
  // `*shared`: the answer is another caller's. Work that was cancelled with its own caller answers nobody: one of those
  // who still wait begins again. CANCELLED: this caller's own end came first (base/work.h).
  absl::StatusOr<T> Run(absl::string_view key, absl::FunctionRef<absl::StatusOr<T>()> make, bool* shared) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (auto known = flights_.find(key); known != flights_.end(); known = flights_.find(key)) {
      const std::shared_ptr<Flight> flight = known->second;
      while (!landed_.wait_for(lock, kLook, [&] { return flight->result.has_value(); })) {
        if (Work::CallerHasGone()) return absl::CancelledError("the call ended while another worked out its answer");
      }
      if (absl::IsCancelled(flight->result->status())) continue;
      *shared = true;
      return *flight->result;
    }
    const auto flight = std::make_shared<Flight>();
    flights_.emplace(std::string(key), flight);
    lock.unlock();
    absl::StatusOr<T> result = make();
    lock.lock();
    flight->result = result;
    flights_.erase(key);
    landed_.notify_all();
    *shared = false;
    return result;
  }

 private:
  static constexpr std::chrono::milliseconds kLook{20};
  struct Flight {
    std::optional<absl::StatusOr<T>> result;
  };
  std::mutex mutex_;
  std::condition_variable landed_;
  absl::flat_hash_map<std::string, std::shared_ptr<Flight>> flights_;  // guarded by mutex_
};

}  // namespace flightplan::service
