#include "service/local/free_memory.h"

#include <malloc.h>

#include <cstddef>

// gperftools/malloc_extension_c.h. Weak: which allocator is linked is decided where programs are
// (flightplan_allocator).
extern "C" {
[[gnu::weak]] int MallocExtension_GetNumericProperty(const char* property, size_t* value);
[[gnu::weak]] void MallocExtension_MarkThreadIdle(void);
[[gnu::weak]] void MallocExtension_ReleaseFreeMemory(void);
}

namespace flightplan::service {
namespace {

// Less is soon used again, and getting it back from the system costs more than keeping it.
constexpr size_t kWorthReturning = size_t{16} << 20;

}  // namespace

void ReturnFreeMemory() {
  if (MallocExtension_ReleaseFreeMemory == nullptr) {
    malloc_trim(kWorthReturning);
    return;
  }
  MallocExtension_MarkThreadIdle();  // what it keeps for itself holds whole pages
  size_t free_bytes = 0;
  MallocExtension_GetNumericProperty("tcmalloc.pageheap_free_bytes", &free_bytes);
  if (free_bytes > kWorthReturning) MallocExtension_ReleaseFreeMemory();
}

}  // namespace flightplan::service
