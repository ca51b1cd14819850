// An HTTP/1.1 server for clients without gRPC: scrapers, probes, the Kubernetes API server. Whatever a stranger decides
// has a bound: connections, in all and of one address; bytes of header and body; the time from the first byte to the
// last. When a place is needed, the connection that has kept the server waiting for longest is closed, so that a caller
// that sends its request at once is served beside any number of callers that do not.
#pragma once

#include <openssl/ossl_typ.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "service/http/http_message.h"
#include "service/observe/http_drops.h"

namespace flightplan::service {

class HttpServer {
 public:
  struct Options {
    std::string listen;                              // HOST:PORT, port 0: any free one
    std::string setting;                             // its name, for errors: "http_listen"
    std::function<bool(SSL_CTX*)> tls;               // sets up TLS and says whether that worked; null: plain text
    std::function<void(HttpDrop)> dropped;           // counts; called on the server's own thread; null: nobody counts
    size_t max_connections = 64;                     // half of them of one address
    size_t max_body_bytes = 0;                       // of a request
    size_t max_bodies_bytes = 0;                     // of all requests together
    absl::Duration request_time = absl::Seconds(5);  // from the connection, or the first byte of a later request
    absl::Duration answer_time = absl::Seconds(5);   // for the caller to take the answer
    absl::Duration keep_alive =
        absl::ZeroDuration();     // for which a connection may wait for its next request; zero: none
    int threads = 1;              // that make answers
    size_t max_queued = 64;       // requests that wait for one of them; more are told 503
    bool chunked_bodies = false;  // a request's body may come without its length, and is then reckoned as the largest
    std::vector<HttpHeader> headers;  // of every answer
    // How a fault of the bytes is told, instead of a line of text; null: as that line.
    std::function<HttpResponse(int status, absl::string_view line)> complaint;
  };

  // INVALID_ARGUMENT: `listen` is no address; UNAVAILABLE: it is taken.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(Options options, std::vector<HttpRoute> routes);
  // Takes no more requests; those in hand are answered.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;

 private:
  class Listener;
  explicit HttpServer(std::unique_ptr<Listener> listener);

  std::unique_ptr<Listener> listener_;
};

inline constexpr size_t kMaxHttpHeaderBytes = 8192;  // request line and header lines

}  // namespace flightplan::service
