// The network between NVLink domains.
#pragma once

#include "absl/strings/string_view.h"

namespace flightplan {

// Infiniband and RoCE have RDMA verbs, and so has EFA; libfabric on Slingshot and sockets have none, on which the flex
// dispatchers' kernels are built. Empty: not known, taken to have them.
inline bool HasVerbs(absl::string_view transport) { return transport != "slingshot" && transport != "tcp"; }

// Beside the capabilities of a stack: it stands on a network without verbs.
inline constexpr absl::string_view kNoVerbs = "network=no-verbs";

}  // namespace flightplan
