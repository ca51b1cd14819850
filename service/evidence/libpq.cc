#include "service/evidence/libpq.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace flightplan::service {
namespace {

struct Opened {
  Libpq functions;
  absl::Status status;
};

Opened OpenLibpq() {
  Opened opened;
  void* const library = ::dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);  // kept until the process ends
  if (library == nullptr) {
    opened.status = absl::FailedPreconditionError(
        absl::StrCat("evidence store: PostgreSQL needs libpq.so.5 (Debian: apt-get install libpq5): ", ::dlerror()));
    return opened;
  }
#define FLIGHTPLAN_LIBPQ_FIND(name)                                                                   \
  opened.functions.name = reinterpret_cast<decltype(&::name)>(::dlsym(library, #name));               \
  if (opened.functions.name == nullptr) {                                                             \
    opened.status = absl::FailedPreconditionError("evidence store: PostgreSQL: libpq has no " #name); \
  }
  FLIGHTPLAN_LIBPQ_FUNCTIONS(FLIGHTPLAN_LIBPQ_FIND)
#undef FLIGHTPLAN_LIBPQ_FIND
  return opened;
}

const Opened& OpenedOnce() {
  static const Opened* const kOpened = new Opened(OpenLibpq());
  return *kOpened;
}

}  // namespace

absl::Status LoadLibpq() { return OpenedOnce().status; }
const Libpq& Pq() { return OpenedOnce().functions; }

}  // namespace flightplan::service
