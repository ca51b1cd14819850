#include "resolver/base/work.h"

#include <algorithm>
#include <utility>

namespace flightplan {
namespace {

constexpr uint64_t kUnitsBetweenLooks = uint64_t{1} << 18;

}  // namespace

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local Work* Work::current_ = nullptr;

Work::Work(uint64_t units, std::function<bool()> stopped)
    : outer_(current_), stopped_(std::move(stopped)), left_(units) {
  current_ = this;
  Look(0);
}

Work::~Work() {
  current_ = outer_;
  if (outer_ != nullptr) outer_->Take(static_cast<size_t>(stride_ - until_look_));
}

void Work::Look(size_t units) {
  const uint64_t done = stride_ - until_look_ + units;
  left_ -= std::min(left_, done);
  used_ += done;
  if (outer_ != nullptr && done > 0) outer_->Take(static_cast<size_t>(done));
  abandoned_ = abandoned_ || (outer_ != nullptr && outer_->abandoned_) || (stopped_ && stopped_());
  spent_ = spent_ || left_ == 0 || abandoned_ || (outer_ != nullptr && outer_->spent_);
  // Once it is spent the rest is counted in large steps: what still runs is on its way out.
  stride_ = until_look_ = spent_ ? kUnitsBetweenLooks : std::min(left_, kUnitsBetweenLooks);
}

bool Work::Ask() {
  if (outer_ != nullptr) outer_->Ask();
  Look(0);
  return abandoned_;
}

}  // namespace flightplan
