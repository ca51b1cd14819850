// Between the bytes of HTTP/1.1 and the values of http_message.h.
#pragma once

#include <openssl/ossl_typ.h>

#include <boost/beast/http.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "service/http/http_message.h"

namespace flightplan::service {

using HttpParser = boost::beast::http::request_parser<boost::beast::http::string_body>;

// What is read ahead of the parser: a header fits, a body comes through in parts.
inline constexpr size_t kHttpReadAheadBytes = 16 << 10;
inline constexpr size_t kHttpFirstBytes = 1 << 10;      // of the next request
inline constexpr std::chrono::seconds kHttpGoodbye{1};  // for a caller of TLS to say it too
// Of a body that is refused so much is taken and forgotten, for as long as a goodbye takes.
inline constexpr size_t kHttpForgottenBytes = 8 << 20;

// A part of an answer, as it goes out.
struct HttpPart {
  std::string bytes;
  std::function<void(bool taken)> taken;  // null: nobody waits
  bool last = false;
};

struct HttpFault {
  int status;
  std::string line;
};
// Of what is wrong with the bytes; nothing for a caller who only went away.
std::optional<HttpFault> FaultOf(const boost::system::error_code& error);

// Of a header that names no one server (RFC 9112, 3.2): several Hosts, a target of another form or of another server.
// Without a Host nobody is named, which is for those to refuse that go by it.
std::optional<HttpFault> FaultIn(const HttpParser::value_type& header);

// The message is read, FaultIn has nothing against it, and it is not needed after. A target with a server's name comes
// as its path, and as a Host where there is none.
HttpRequest TakeRequest(HttpParser::value_type* message);
// In DER; empty: none, or not one that was verified.
std::string PeerCertificate(SSL* connection);

// Status and headers, with `always` where the response does not say otherwise.
boost::beast::http::response<boost::beast::http::string_body> HeadOf(const HttpResponse& response,
                                                                     const std::vector<HttpHeader>& always);
// The same for an answer in parts, as bytes.
std::string ChunkedHead(const HttpResponse& response, const std::vector<HttpHeader>& always, bool keep_alive);
// One part of it.
std::string Chunk(absl::string_view part);
inline constexpr char kLastChunk[] = "0\r\n\r\n";

}  // namespace flightplan::service
