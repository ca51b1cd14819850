// What becomes of a store's file that is not there.
#pragma once

namespace flightplan::service {

enum class IfMissing {
  kMake,
  kRefuse,  // for commands that read: a misspelt name is no empty store
};

}  // namespace flightplan::service
