// RunProbe: one worker at a time, on a thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "service/backend/current.h"
#include "service/call/call.h"
#include "service/local/probe_worker.h"
#include "service/local/profile_store.h"
#include "service/local/worker_pool.h"

namespace flightplan::service {

// What the calls of one server share. Outlives them.
struct ProbeContext {
  bool enabled = false;  // --probe
  std::string worker;    // --probe_worker
  std::string fake;      // tests: replays a file
  const Current<Catalog>* catalog = nullptr;
  ProfileStore* store = nullptr;
  WorkerPool* pool = nullptr;  // one thread
  std::atomic<bool> running{false};
  std::atomic<int> stuck_pid{0};  // a worker that does not die; no other is started while it lives
  std::function<void(ProbeResult)> count;
};

grpc::ServerWriteReactor<grpc::ByteBuffer>* HandleRunProbe(const Edge& edge, const Metrics::Method& method,
                                                           ProbeContext* probe, grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request);

}  // namespace flightplan::service
