// Chooses how the ranks of a context-parallel group exchange keys and values if the caller does not say.
#pragma once

#include <cstdint>

#include "resolver/derive/candidate.h"
#include "resolver/derive/shape.h"

namespace flightplan {

struct ContextExchange {
  CpComm type = CpComm::kP2p;
  // a2a+p2p: ranks of an all-to-all, which are neighbours, and of the rings between them; inside * outside = CP.
  int64_t inside = 1, outside = 1;
};

// What Transformer Engine can run: windows need all of the sequence (a2a) or of its keys (all_gather), sinks all of the
// sequence, an all-to-all needs heads and groups that divide (with sinks a layout where they do not has no exchange).
// Of that the ring, unless its keys and values cross the network and are too many for it: then an all-to-all inside the
// NVLink domain of `domain_gpus`, and rings of what is left between domains.
ContextExchange ContextExchangeOf(const ModelShape& shape, int64_t tp, int64_t cp, int64_t seq_length,
                                  int64_t domain_gpus);

}  // namespace flightplan
