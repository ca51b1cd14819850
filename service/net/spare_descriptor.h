// Reserves a file descriptor, so that a connection that must be accepted can be when no other descriptor is left.
#pragma once

#include <fcntl.h>

#include "service/net/descriptor.h"

namespace flightplan::service {

class SpareDescriptor {
 public:
  SpareDescriptor() { Keep(); }

  bool is_kept() const { return kept_.is_open(); }
  // Takes one again; where there is none, it stays without.
  void Keep() {
    if (!kept_.is_open()) kept_.Reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  // For the next thing that this process opens.
  void Give() { kept_.Close(); }

 private:
  Descriptor kept_;
};

}  // namespace flightplan::service
