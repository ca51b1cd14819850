// A finished answer as the bytes of its message, with what a server says of it in its logs and metrics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "resolver/base/wire_writer.h"
#include "resolver/plan/finding.h"

namespace flightplan {

struct ConfigAnswer {
  struct Found {
    std::string rule_id;
    Severity severity = Severity::kError;
  };

  WireBytes bytes;  // the response, deterministically serialized: the same answer has the same bytes
  bool accepted_by_stack = false;
  bool will_run = false;
  std::vector<Found> findings;  // in the answer's order
  std::string digest;
  std::string catalog_revision;
  std::string target;
};

}  // namespace flightplan
