// A server of a few addresses, and callers who say to it what they like.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/http/http_server.h"

namespace flightplan::service {

// A caller that may send anything.
class Caller {
 public:
  explicit Caller(int port) : socket_(io_) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), static_cast<uint16_t>(port)});
    const timeval longest{10, 0};  // a server that says nothing fails the test instead of holding it up
    setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest));
  }
  // False: the server has ended the connection.
  bool Say(const std::string& text) {
    boost::system::error_code error;
    boost::asio::write(socket_, boost::asio::buffer(text), error);
    return !error;
  }
  // All until the server ends the connection.
  std::string Rest() {
    std::string text;
    boost::system::error_code error;
    boost::asio::read(socket_, boost::asio::dynamic_buffer(text), error);
    return text;
  }
  // Until `end` has come.
  std::string Until(const std::string& end) {
    std::string text;
    char next = 0;
    boost::system::error_code error;
    while (text.find(end) == std::string::npos && !error) {
      if (boost::asio::read(socket_, boost::asio::buffer(&next, 1), error) == 1) text += next;
    }
    return text;
  }

 private:
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    options_.listen = "127.0.0.1:0";
    options_.setting = "http_listen";
    options_.max_body_bytes = 1000;
    options_.max_bodies_bytes = 1500;
    options_.dropped = [this](HttpDrop why) { ++dropped_[static_cast<size_t>(why)]; };
  }

  void Start() {
    auto server = HttpServer::Start(
        options_,
        {{"GET", "/hello",
          [](const HttpRequest&) {
            return HttpResponse{200, "text/plain", "hello\n"};
          }},
         {"POST", "/echo",
          [](const HttpRequest& request) {
            return HttpResponse{200, "text/plain", request.body};
          }},
         {"GET", "/host",
          [](const HttpRequest& request) {
            const std::string* const host = request.Header("host");
            return HttpResponse{200, "text/plain", absl::StrCat(request.path, " of ", host ? *host : "", "\n")};
          }},
         {"GET", "/wait", [this](const HttpRequest&) {
            began_.set_value();
            go_on_.get_future().wait();
            return HttpResponse{200, "text/plain", "waited\n"};
          }}});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  Caller Connect() { return Caller(server_->port()); }
  std::string Ask(const std::string& text) {
    Caller caller = Connect();
    caller.Say(text);
    return caller.Rest();
  }

  int dropped(HttpDrop why) const { return dropped_[static_cast<size_t>(why)]; }

  std::array<std::atomic<int>, kHttpDropWords.size()> dropped_{};
  HttpServer::Options options_;
  std::promise<void> began_, go_on_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace flightplan::service
