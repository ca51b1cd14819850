#include "resolver/plan/config.h"

#include <cstring>
#include <new>

namespace flightplan {

const Config::Page* Config::EmptyPage() {
  static const Page* const kEmpty = [] {
    auto* page = new Page();
    page->kept = page;
    page->KeepForever();
    return page;
  }();
  return kEmpty;
}

Config::Page::Page(const Page& other)
    : Counted(),
      origins(other.origins),
      not_default(other.not_default),
      touched(other.touched),
      counted(other.counted),
      kept(other.kept) {
  // All values but those counted below hold no more than their bytes.
  // NOLINTNEXTLINE(bugprone-undefined-memory-manipulation)
  std::memcpy(static_cast<void*>(values.data()), other.values.data(), sizeof(values));
  ForEachBit(counted, [&](size_t slot) { new (&values[slot]) Value(other.values[slot]); });
}

Config::Page* Config::OwnPage(size_t index) {
  const Page* page = pages_[index];
  if (!page->Unshared()) {
    const Page* copy = new Page(*page);
    if (page->Drop()) delete page;
    pages_[index] = copy;
    counted_ |= uint64_t{1} << index;
  }
  return const_cast<Page*>(pages_[index]);  // nobody else holds it
}

void Config::KeepForever() {
  for (size_t i = 0; i < kPages; ++i) {
    Page* page = OwnPage(i);
    for (Value& value : page->values) value.KeepForever();
    page->touched = 0;
    page->counted = 0;
    page->kept = page;
    page->KeepForever();
  }
  counted_ = 0;
}

}  // namespace flightplan
