#include "resolver/planner/layout_list.h"

#include <algorithm>

namespace flightplan {

void LayoutList::Clear() {
  sizes_.clear();
  entries_.clear();
}

void LayoutList::Add(const LayoutSizes& sizes, double caution, size_t split_at, double bound) {
  if (sizes_.empty() || sizes_.back().sizes != sizes) sizes_.push_back({sizes, caution});
  entries_.push_back({static_cast<uint32_t>(sizes_.size() - 1), static_cast<uint32_t>(split_at), bound});
}

void LayoutList::Sort(size_t first) {
  std::stable_sort(entries_.begin() + static_cast<std::ptrdiff_t>(first), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.bound < b.bound; });
}

}  // namespace flightplan
