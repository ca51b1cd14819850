#include "resolver/plan/config.h"

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

Config::Page* Config::OwnPage(size_t index) {
  const Page* page = pages_[index];
  if (!page->Unshared()) {
    const Page* copy = new Page(*page);
    if (page->Drop()) delete page;
    pages_[index] = copy;
  }
  return const_cast<Page*>(pages_[index]);  // nobody else holds it
}

void Config::KeepForever() {
  for (size_t i = 0; i < kPages; ++i) {
    Page* page = OwnPage(i);
    for (Value& value : page->values) value.KeepForever();
    page->touched = 0;
    page->kept = page;
    page->KeepForever();
  }
}

}  // namespace flightplan
