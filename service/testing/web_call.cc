#include "service/testing/web_call.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace flightplan::service {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

bool Connect(int port, tcp::socket* socket) {
  error_code error;
  socket->connect({asio::ip::address_v4::loopback(), static_cast<uint16_t>(port)}, error);
  return !error;
}

template <class Stream>
WebAnswer Exchange(int port, const WebRequest& asked, Stream* stream) {
  http::request<http::string_body> request;
  request.method_string(asked.method);
  request.target(asked.target);
  request.version(11);
  for (const auto& [name, value] : asked.headers) request.insert(name, value);
  if (request.find(http::field::host) == request.end()) {
    request.set(http::field::host, absl::StrCat("localhost:", port));
  }
  request.body() = asked.body;
  request.prepare_payload();
  error_code error;
  http::write(*stream, request, error);
  if (error) return {};
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(size_t{64} << 20);
  http::read(*stream, buffer, parser, error);
  if (error) return {};
  WebAnswer answer;
  answer.status = static_cast<int>(parser.get().result_int());
  for (const auto& field : parser.get()) {
    const std::string name =
        absl::AsciiStrToLower(absl::string_view(field.name_string().data(), field.name_string().size()));
    std::string& value = answer.headers[name];
    if (!value.empty()) value += ", ";
    value.append(field.value().data(), field.value().size());
  }
  answer.body = parser.get().body();
  return answer;
}

}  // namespace

WebAnswer WebCall(int port, const WebRequest& request) {
  asio::io_context io;
  tcp::socket socket(io);
  return Connect(port, &socket) ? Exchange(port, request, &socket) : WebAnswer();
}

WebAnswer WebCallTls(int port, const WebRequest& request, const std::string& roots, const KeyAndCertificate& own) {
  asio::io_context io;
  asio::ssl::context tls(asio::ssl::context::tls_client);
  error_code error;
  tls.add_certificate_authority(asio::buffer(roots), error);
  tls.set_verify_mode(asio::ssl::verify_peer);
  if (!own.certificate.empty()) {
    tls.use_certificate_chain(asio::buffer(own.certificate), error);
    tls.use_private_key(asio::buffer(own.key), asio::ssl::context::pem, error);
  }
  asio::ssl::stream<tcp::socket> stream(io, tls);
  if (!Connect(port, &stream.next_layer())) return {};
  stream.handshake(asio::ssl::stream_base::client, error);
  return error ? WebAnswer() : Exchange(port, request, &stream);
}

}  // namespace flightplan::service
