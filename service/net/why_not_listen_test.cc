#include "service/net/why_not_listen.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

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

TEST(WhyNotListen, LeavesASocketToTheProgramThatListens) {
  const TemporaryFolder folder;
  const std::string path = folder.File("s.sock");
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.data(), path.size());
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(fd, 0), 0);
  for (int i = 0; i < 3; ++i) {  // also where its queue is full
    EXPECT_EQ(WhyNotListen("unix:" + path), "another program listens there: end it, or choose another path");
  }
  ::close(fd);
  EXPECT_EQ(WhyNotListen("unix:" + path), "") << "what a program left behind is nobody's";
}

TEST(WhyNotListen, LeavesAFileThatIsNoSocket) {
  const TemporaryFolder folder;
  const std::string path = folder.File("notes");
  std::ofstream(path) << "mine";
  EXPECT_EQ(WhyNotListen("unix:" + path), "it exists and is no socket: remove it, or choose another path");
}

TEST(WhyNotListen, NamesWhatIsMissing) {
  EXPECT_EQ(WhyNotListen("192.0.2.1:0"), "this machine has no such address");
  EXPECT_EQ(WhyNotListen("unix:/nonexistent/folder/x.sock"),
            "no socket can be made in /nonexistent/folder: No such file or directory");
  EXPECT_EQ(WhyNotListen("localhost"), "it must be HOST:PORT or [HOST]:PORT, PORT from 0 to 65535");
}

}  // namespace
}  // namespace flightplan::service
