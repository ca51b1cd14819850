#include "service/self_check.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "service/testing/server_fixture.h"

namespace flightplan::service {
namespace {

class SelfCheckTest : public ServerTest {};

TEST_F(SelfCheckTest, AServerAnswers) {
  const OwnAddress own{"127.0.0.1:0", server_->ports()[0], false};
  EXPECT_EQ(DialSelf(own, absl::Seconds(10)), Dialled::kAnswered);
  EXPECT_EQ(DialSelf({"0.0.0.0:0", own.port, false}, absl::Seconds(10)), Dialled::kAnswered);
  // As on a host without IPv6: this one is at 127.0.0.1 alone.
  EXPECT_EQ(DialSelf({"[::]:0", own.port, false}, absl::Seconds(10)), Dialled::kAnswered);
  // What TLS says first is no HTTP/2: the connection is closed, and that is an answer.
  EXPECT_EQ(DialSelf({"127.0.0.1:0", own.port, true}, absl::Seconds(10)), Dialled::kAnswered);
}

// As a listener whose process accepts no more: the system still makes the connection.
TEST(SelfCheck, WhoAcceptsNobodyIsSilent) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int port = ntohs(address.sin_port);
  EXPECT_EQ(DialSelf({"127.0.0.1:0", port, false}, absl::Milliseconds(100)), Dialled::kSilent);
  EXPECT_EQ(DialSelf({"127.0.0.1:0", port, true}, absl::Milliseconds(100)), Dialled::kSilent);
  ::close(listener);
  EXPECT_EQ(DialSelf({"127.0.0.1:0", port, false}, absl::Milliseconds(100)), Dialled::kSilent);
}

TEST(SelfCheck, UnixSocketsAreFound) {
  const std::string name = absl::StrCat("flightplan-self-check-", ::getpid());
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  EXPECT_EQ(DialSelf({absl::StrCat("unix-abstract:", name), 0, false}, absl::Milliseconds(100)), Dialled::kSilent);
  const int accepted = ::accept(listener, nullptr, nullptr);
  EXPECT_GE(accepted, 0) << "the abstract socket was dialled";
  ::close(accepted);
  ::close(listener);
  EXPECT_EQ(DialSelf({"unix:/nonexistent/socket", 0, false}, absl::Milliseconds(100)), Dialled::kSilent);
}

}  // namespace
}  // namespace flightplan::service
