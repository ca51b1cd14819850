#include "service/net/why_not_listen.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace flightplan::service {
namespace {

// A listener of this process on a free loopback port.
class Taken {
 public:
  Taken() : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd_, 1), 0);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~Taken() { ::close(fd_); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  const int fd_;
  int port_ = 0;
};

TEST(WhyNotListen, SaysThatAPortIsTaken) {
  const Taken taken;
  EXPECT_EQ(WhyNotListen(taken.address()), "another program listens there: end it, or choose another port");
}

TEST(WhyNotListen, SaysNothingOfAFreePort) {
  EXPECT_EQ(WhyNotListen("127.0.0.1:0"), "");
  EXPECT_EQ(WhyNotListen("unix:/tmp/flightplan-why-not.sock"), "");
}

TEST(WhyNotListen, NamesWhatIsMissing) {
  EXPECT_EQ(WhyNotListen("192.0.2.1:0"), "this machine has no such address");
  EXPECT_EQ(WhyNotListen("unix:/nonexistent/folder/x.sock"),
            "no socket can be made in /nonexistent/folder: No such file or directory");
  EXPECT_EQ(WhyNotListen("localhost"), "it must be HOST:PORT or [HOST]:PORT, PORT from 0 to 65535");
}

}  // namespace
}  // namespace flightplan::service
