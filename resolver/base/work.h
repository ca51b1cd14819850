// The work that one question may cost, and the hook that ends it with its caller.
//
// Code that reads or interprets a caller's text counts its steps: a byte copied, compared, passed, a node visited. The
// budget belongs to the thread, as a deadline does, so that code at the bottom need not know the call at the top.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace flightplan {

// While it lives, what this thread counts is spent from it, and from the one around it, which it cannot outspend. A
// unit is a nanosecond or two.
class Work {
 public:
  // `stopped` is asked every few hundred microseconds of work; true: nobody waits for the answer any more.
  explicit Work(uint64_t units, std::function<bool()> stopped = nullptr);
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Counts. Without a budget nothing is counted.
  static void Spend(size_t units) {
    if (current_ != nullptr) current_->Take(units);
  }
  // Whether nothing is left, or the caller has gone: what reads ends where it is. Stays so until the budget's end.
  static bool Spent() { return current_ != nullptr && current_->spent_; }
  // Whether that much is left; without a budget it is.
  static bool Affords(uint64_t units) { return current_ == nullptr || current_->left_ >= units; }
  // Whether it was the caller who ended it.
  static bool Abandoned() { return current_ != nullptr && current_->abandoned_; }
  // The same, asked now: for what waits in place of working.
  static bool CallerHasGone() { return current_ != nullptr && current_->Ask(); }
  // What was spent from the one at hand so far; without a budget nothing.
  static uint64_t Used() { return current_ == nullptr ? 0 : current_->used(); }
  // What was spent from this one so far: to see what a unit costs.
  uint64_t used() const { return used_ + (stride_ - until_look_); }

 private:
  void Take(size_t units) {
    if (units >= until_look_) return Look(units);
    until_look_ -= units;
  }
  void Look(size_t units);
  // From the outermost on, which may be the one whose caller it is; abandoned_.
  bool Ask();

  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the one that counts in this thread
  static thread_local Work* current_;

  Work* const outer_;
  const std::function<bool()> stopped_;
  uint64_t left_;            // as of the last look
  uint64_t used_ = 0;        // until then
  uint64_t until_look_ = 0;  // units until the next one
  uint64_t stride_ = 0;      // what until_look_ was then
  bool spent_ = false, abandoned_ = false;
};

}  // namespace flightplan
