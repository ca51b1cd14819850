// What the connections of an HTTP server share: its options and routes, its thread, its counts. Everything but the
// answers is one thread's: no locks.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "service/http/http_places.h"
#include "service/http/http_server.h"
#include "service/local/worker_pool.h"
#include "service/net/spare_descriptor.h"

namespace flightplan::service {

struct HttpLoop {
  HttpLoop(HttpServer::Options o, std::vector<HttpRoute> r)
      : options(std::move(o)),
        routes(std::move(r)),
        places(options.max_connections, options.max_bodies_bytes, [this] { Dropped(HttpDrop::kDisplaced); }) {}

  void Dropped(HttpDrop why) const {
    if (options.dropped) options.dropped(why);
  }

  HttpResponse Says(int status, absl::string_view text) const;
  // The route that answers; null: none, and `otherwise` is the answer.
  const HttpRoute* Find(absl::string_view method, absl::string_view path, HttpResponse* otherwise) const;

  const HttpServer::Options options;
  const std::vector<HttpRoute> routes;
  boost::asio::io_context io{1};
  SpareDescriptor spare;
  bool stopping = false;
  HttpPlaces places;
  std::optional<WorkerPool> pool;  // makes the answers
};

}  // namespace flightplan::service
