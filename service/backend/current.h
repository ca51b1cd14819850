// Holds a value that is replaced as a whole while others read it. A reader may keep the value that it got.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace flightplan::service {

template <class T>
class Current {
 public:
  explicit Current(std::shared_ptr<const T> value) : value_(std::move(value)) {}
  std::shared_ptr<const T> Get() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return value_;
  }
  void Set(std::shared_ptr<const T> value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    value_.swap(value);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_;  // guarded by mutex_
};

}  // namespace flightplan::service
