// What an HTTP server takes and gives: a request as it was read, an answer as it is written.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace flightplan::service {

struct HttpHeader {
  std::string name;  // as sent: compare without case
  std::string value;
};

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // "/metrics": without the query
  std::string body;
  std::string query;  // what follows the '?', as sent
  std::vector<HttpHeader> headers;
  std::string peer_certificate;   // in DER, verified; empty: the caller has shown none
  bool chunks_understood = true;  // false: HTTP/1.0, which knows no body whose length is not said first

  // The first header of that name; null: there is none.
  const std::string* Header(absl::string_view name) const {
    for (const HttpHeader& header : headers) {
      if (absl::EqualsIgnoreCase(header.name, name)) return &header.value;
    }
    return nullptr;
  }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain";  // empty: no such header
  std::string body;
  std::vector<HttpHeader> headers;
};

// An answer that comes later than its request was taken, whole or in parts. Its methods may be called from any thread;
// they return at once. One that is destroyed before its end closes the connection.
class HttpReply {
 public:
  virtual ~HttpReply() = default;

  // The whole answer; nothing follows.
  virtual void Send(HttpResponse response) = 0;

  // An answer in parts: its status and headers (the body is ignored), then its parts, then its end.
  virtual void Begin(HttpResponse head) = 0;
  // `taken` is called once, on the server's own thread: the part was given to the network, or (false) the caller is
  // gone.
  virtual void Write(std::string part, std::function<void(bool taken)> taken) = 0;
  virtual void End() = 0;

  // `gone` is called at most once, on the server's own thread, when the caller goes away before the end. Set it once.
  virtual void OnGone(std::function<void()> gone) = 0;
};

// An answer is made by one thread at a time unless `threads` says more; it says itself how long it takes.
struct HttpRoute {
  std::string method;  // "*": any, the answer looks at it
  std::string path;    // "*": any that no route before has
  std::function<HttpResponse(const HttpRequest&)> answer;
  // Instead of `answer`: called by one of those threads, which it does not keep waiting.
  std::function<void(std::shared_ptr<const HttpRequest> request, std::shared_ptr<HttpReply> reply)> begin = nullptr;
};

}  // namespace flightplan::service
