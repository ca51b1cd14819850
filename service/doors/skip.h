// The reasons for which a door lets a launch pass without a question.
#pragma once

#include <string>

namespace flightplan::doors {

struct Skip {
  std::string why;
  // It may be a training, and a limit kept it from being read: a door that fails closed does not let it pass. False: it
  // is no training that is known.
  bool unread = false;
  // Flags, or YAML with keys that Megatron-LM knows, which may be its own: it is judged so where a person asks.
  bool maybe = false;

  friend bool operator==(const Skip& a, const Skip& b) { return a.why == b.why && a.unread == b.unread; }
};

}  // namespace flightplan::doors
