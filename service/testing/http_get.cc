#include "service/testing/http_get.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

namespace flightplan::service {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

HttpAnswer HttpGet(int port, const std::string& path) {
  boost::asio::io_context io;
  tcp::socket socket(io);
  boost::system::error_code error;
  socket.connect({boost::asio::ip::address_v4::loopback(), static_cast<uint16_t>(port)}, error);
  if (error) return {};
  http::request<http::empty_body> request(http::verb::get, path, 11);
  request.set(http::field::host, "127.0.0.1");
  http::write(socket, request, error);
  if (error) return {};
  boost::beast::flat_buffer buffer;
  http::response<http::string_body> response;
  http::read(socket, buffer, response, error);
  if (error) return {};
  return {static_cast<int>(response.result_int()), response.body()};
}

}  // namespace flightplan::service
