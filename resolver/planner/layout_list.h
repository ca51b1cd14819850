// The promising layouts of a search, of which there may be a million: what a group of them shares is held once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "resolver/planner/space.h"

namespace flightplan {

class LayoutList {
 public:
  size_t size() const { return entries_.size(); }
  void Clear();
  // Layouts of the same sizes follow each other.
  void Add(const LayoutSizes& sizes, double caution, size_t split_at, double bound);
  // From the `first` on, all of the same sizes: the most promising first, equals in the order in which they came.
  void Sort(size_t first);

  double Bound(size_t at) const { return entries_[at].bound; }
  void SetBound(size_t at, double bound) { entries_[at].bound = bound; }
  const LayoutSizes& SizesOf(size_t at) const { return sizes_[entries_[at].sizes_at].sizes; }
  size_t SplitOf(size_t at) const { return entries_[at].split_at; }
  double CautionOf(size_t at) const { return sizes_[entries_[at].sizes_at].caution; }

 private:
  struct Sizes {
    LayoutSizes sizes;
    double caution;
  };
  struct Entry {
    uint32_t sizes_at, split_at;
    double bound;
  };

  // No vectors: they would hold as much again while they grow.
  std::deque<Sizes> sizes_;
  std::deque<Entry> entries_;
};

}  // namespace flightplan
