#include "service/http/http_bytes.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/http/http_server.h"

namespace flightplan::service {
namespace {

namespace http = boost::beast::http;

std::string TextOf(boost::beast::string_view text) { return std::string(text.data(), text.size()); }

// "http://host:80/a?b" as "host:80" and "/a?b"; of a target in the usual form the host is empty.
struct Target {
  boost::beast::string_view host, rest;
};

// Nothing: of no form that is asked here.
std::optional<Target> TargetOf(const HttpParser::value_type& header) {
  const boost::beast::string_view text = header.target();
  if (text.starts_with("/") || (text == "*" && header.method() == http::verb::options)) return Target{{}, text};
  for (const boost::beast::string_view scheme : {"http://", "https://"}) {
    if (!boost::beast::iequals(text.substr(0, scheme.size()), scheme)) continue;
    const boost::beast::string_view at = text.substr(scheme.size());
    const size_t end = std::min(at.find_first_of("/?"), at.size());
    if (end == 0) return std::nullopt;
    return Target{at.substr(0, end), at.substr(end)};
  }
  return std::nullopt;
}

template <class Message>
void SetHeaders(const HttpResponse& response, const std::vector<HttpHeader>& always, Message* message) {
  for (const HttpHeader& header : always) message->set(header.name, header.value);
  if (!response.content_type.empty()) message->set(http::field::content_type, response.content_type);
  if (response.status == 503) message->set(http::field::retry_after, "1");
  for (const HttpHeader& header : response.headers) {
    // What the answer says takes the place of what is always said; what it says twice stands there twice.
    for (const HttpHeader& usual : always) {
      if (absl::EqualsIgnoreCase(usual.name, header.name)) message->erase(header.name);
    }
    message->insert(header.name, header.value);
  }
}

}  // namespace

std::optional<HttpFault> FaultOf(const boost::system::error_code& error) {
  if (error == http::error::header_limit) {
    return HttpFault{431, absl::StrCat("request line and headers have more than ", kMaxHttpHeaderBytes, " bytes")};
  }
  if (error == http::error::body_limit) return HttpFault{413, "the body is larger than this address takes"};
  if (error == http::error::end_of_stream || error == http::error::partial_message) return std::nullopt;
  if (error.category() == make_error_code(http::error::bad_method).category()) {
    return HttpFault{400, "this is no HTTP/1.1"};
  }
  return std::nullopt;
}

std::optional<HttpFault> FaultIn(const HttpParser::value_type& header) {
  const auto hosts = header.equal_range(http::field::host);
  if (std::distance(hosts.first, hosts.second) > 1) return HttpFault{400, "more than one Host"};
  if (header.version() >= 11 && hosts.first == hosts.second)
    return HttpFault{400, "a request of HTTP/1.1 names its Host"};
  const std::optional<Target> target = TargetOf(header);
  if (!target.has_value()) return HttpFault{400, "this is no target of a request"};
  if (!target->host.empty() && hosts.first != hosts.second &&
      !boost::beast::iequals(target->host, hosts.first->value())) {
    return HttpFault{400, "the target is of another server than Host"};
  }
  return std::nullopt;
}

HttpRequest TakeRequest(HttpParser::value_type* message) {
  HttpRequest request;
  request.method = TextOf(message->method_string());
  const Target asked = TargetOf(*message).value_or(Target{});
  std::string target = TextOf(asked.rest);
  if (!asked.host.empty()) {
    if (target.empty() || target.front() == '?') target.insert(0, "/");
    if (message->find(http::field::host) == message->end()) message->set(http::field::host, asked.host);
  }
  const size_t end = target.find('?');
  request.path = target.substr(0, end);
  if (end != std::string::npos) request.query = target.substr(end + 1);
  for (const auto& field : *message) request.headers.push_back({TextOf(field.name_string()), TextOf(field.value())});
  request.chunks_understood = message->version() >= 11;
  request.body = std::move(message->body());
  return request;
}

std::string PeerCertificate(SSL* connection) {
  std::string der;
  X509* const certificate = SSL_get1_peer_certificate(connection);
  if (certificate == nullptr) return der;
  unsigned char* bytes = nullptr;
  const int size = SSL_get_verify_result(connection) == X509_V_OK ? i2d_X509(certificate, &bytes) : 0;
  if (size > 0) der.assign(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  OPENSSL_free(bytes);
  X509_free(certificate);
  return der;
}

http::response<http::string_body> HeadOf(const HttpResponse& response, const std::vector<HttpHeader>& always) {
  http::response<http::string_body> message(static_cast<http::status>(response.status), 11);
  SetHeaders(response, always, &message);
  return message;
}

std::string ChunkedHead(const HttpResponse& response, const std::vector<HttpHeader>& always, bool keep_alive) {
  http::response<http::empty_body> message(static_cast<http::status>(response.status), 11);
  SetHeaders(response, always, &message);
  message.keep_alive(keep_alive);
  message.chunked(true);
  std::ostringstream text;
  text << message.base();
  return text.str();
}

std::string Chunk(absl::string_view part) {
  if (part.empty()) return "";  // it would be the last
  return absl::StrCat(absl::Hex(part.size()), "\r\n", part, "\r\n");
}

}  // namespace flightplan::service
