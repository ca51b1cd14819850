// One GET over loopback, for tests.
#pragma once

#include <string>

namespace flightplan::service {

struct HttpAnswer {
  int status = 0;  // 0: no answer
  std::string body;
};

HttpAnswer HttpGet(int port, const std::string& path);

}  // namespace flightplan::service
