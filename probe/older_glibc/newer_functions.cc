// What libstdc++.a and libgcc_eh.a of a newer system take of its glibc and one of 2.28 (RHEL 8) does not have. Linked
// into the worker for older systems alone (older_glibc.cmake).
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <sys/random.h>

#include <cstdint>

extern "C" {

// glibc 2.32; libstdc++ counts references without atomics where it is not zero. Zero is right in every process.
char __libc_single_threaded = 0;  // NOLINT(bugprone-reserved-identifier)

// glibc 2.36; for std::random_device.
uint32_t arc4random() noexcept {
  uint32_t word = 0;
  if (getrandom(&word, sizeof word, 0) != sizeof word) abort();
  return word;
}

#ifdef DLFO_EH_SEGMENT_TYPE
// glibc 2.35; by it an exception finds the tables of the object that it goes through. Asks the loader as libgcc does
// where it is built for an older glibc.
int _dl_find_object(void* address, dl_find_object* result) noexcept {
  struct Search {
    ElfW(Addr) address;
    dl_find_object* result;
  } search{reinterpret_cast<ElfW(Addr)>(address), result};
  const auto look = [](dl_phdr_info* object, size_t, void* data) {
    auto& wanted = *static_cast<Search*>(data);
    ElfW(Addr) start = ~ElfW(Addr){0}, end = 0, tables = 0;
    bool inside = false;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = object->dlpi_phdr[i];
      const ElfW(Addr) from = object->dlpi_addr + segment.p_vaddr;
      if (segment.p_type == DLFO_EH_SEGMENT_TYPE) tables = from;
      if (segment.p_type != PT_LOAD) continue;
      if (from < start) start = from;
      if (from + segment.p_memsz > end) end = from + segment.p_memsz;
      inside = inside || (wanted.address >= from && wanted.address - from < segment.p_memsz);
    }
    if (!inside) return 0;
    *wanted.result = {};
    wanted.result->dlfo_map_start = reinterpret_cast<void*>(start);
    wanted.result->dlfo_map_end = reinterpret_cast<void*>(end);
    wanted.result->dlfo_eh_frame = reinterpret_cast<void*>(tables);
    return 1;
  };
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
#endif

}  // extern "C"
