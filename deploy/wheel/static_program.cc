// What a program that has its libraries in itself (FLIGHTPLAN_STATIC) gets in place of functions of theirs.
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

namespace grpc_core {
class CoreConfiguration {
 public:
  class Builder;
};

// As in gRPC's own grpc_plugin_registry_noextra.cc: without xDS, which nobody here can configure. It is an eighth of
// the program.
void RegisterExtraFilters(CoreConfiguration::Builder*);
void RegisterExtraFilters(CoreConfiguration::Builder*) {}
}  // namespace grpc_core

// glibc has it since 2.36, and std::random_device of a libstdc++ built with that asks for it; the wheel runs with 2.34.
extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  if (getrandom(&value, sizeof(value), 0) != sizeof(value)) std::abort();
  return value;
}
