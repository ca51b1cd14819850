// What gRPC says by itself, as lines of the service's log: on standard error they would stand among its JSON lines.
#pragma once

#include "service/observe/log.h"

namespace flightplan::service {

// While it lives, gRPC's lines go to `log`. Of several in one process the newest has them.
class GrpcLog {
 public:
  explicit GrpcLog(Log* log);
  ~GrpcLog();
  GrpcLog(const GrpcLog&) = delete;
  GrpcLog& operator=(const GrpcLog&) = delete;

 private:
  Log* const log_;
};

}  // namespace flightplan::service
