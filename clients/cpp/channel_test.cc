#include "flightplan/channel.h"

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

#include "clients/cpp/plaintext_token.h"
#include "flightplan/v1/resolver_service.grpc.pb.h"
#include "gtest/gtest.h"

namespace flightplan {
namespace {

constexpr char kElsewhere[] = "192.0.2.1:1";  // of TEST-NET-1: nobody

TEST(PlaintextToken, LocalAddresses) {
  std::ifstream file(FLIGHTPLAN_LOCAL_ADDRESSES);
  std::string line;
  int rows = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    const size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos) << line;
    EXPECT_EQ(IsLocalAddress(line.substr(tab + 1)), line.substr(0, tab) == "yes") << line;
    ++rows;
  }
  EXPECT_GT(rows, 30);
}

grpc::Status Ask(const std::shared_ptr<grpc::Channel>& channel, bool token) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  if (token) context.AddMetadata("authorization", "Bearer s3cret");
  v1::ResolveConfigResponse plan;
  return v1::ResolverService::NewStub(channel)->ResolveConfig(&context, {}, &plan);
}

grpc::Status Search(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  context.AddMetadata("authorization", "Bearer s3cret");
  const auto stream = v1::ResolverService::NewStub(channel)->PlanLayouts(&context, {});
  v1::PlanLayoutsResponse event;
  EXPECT_FALSE(stream->Read(&event));
  return stream->Finish();
}

TEST(PlaintextToken, IsNotSentToAnotherMachine) {
  const auto channel = MakeChannel(kElsewhere);
  const grpc::Status status = Ask(channel, true);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_NE(status.error_message().find(kAllowPlaintextToken), std::string::npos) << status.error_message();
  EXPECT_EQ(Search(channel).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST(PlaintextToken, CallsWithoutATokenTlsAndThisMachineAreLeftAlone) {
  EXPECT_NE(Ask(MakeChannel(kElsewhere), false).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_NE(Ask(MakeChannel(kElsewhere, grpc::SslCredentials({})), true).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_NE(Ask(MakeChannel("127.0.0.1:1"), true).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

// A proxy that takes connections and answers nobody.
class Proxy {
 public:
  Proxy() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd_, 8), 0);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    setenv("http_proxy", ("http://127.0.0.1:" + std::to_string(ntohs(address.sin_port))).c_str(), 1);
  }
  ~Proxy() {
    unsetenv("http_proxy");
    ::close(fd_);
  }
  // Whether anybody has come since.
  bool Met() {
    const int caller = ::accept(fd_, nullptr, nullptr);
    if (caller >= 0) ::close(caller);
    return caller >= 0;
  }

 private:
  const int fd_;
};

TEST(Proxies, HearOfNoPlaintextAndOfNoLocalAddress) {
  Proxy proxy;
  setenv(kAllowPlaintextToken, "1", 1);
  Ask(MakeChannel(kElsewhere), true);
  unsetenv(kAllowPlaintextToken);
  EXPECT_FALSE(proxy.Met());
  Ask(MakeChannel("127.0.0.1:1"), true);
  Ask(MakeChannel("localhost:1", grpc::SslCredentials({})), true);
  EXPECT_FALSE(proxy.Met());
  Ask(MakeChannel(kElsewhere, grpc::SslCredentials({})), true);
  EXPECT_TRUE(proxy.Met()) << "TLS may need it";
}

TEST(PlaintextToken, TheEnvironmentAllowsIt) {
  setenv(kAllowPlaintextToken, "1", 1);
  const auto allowed = MakeChannel(kElsewhere);
  setenv(kAllowPlaintextToken, "0", 1);
  const auto refused = MakeChannel(kElsewhere);
  unsetenv(kAllowPlaintextToken);
  EXPECT_NE(Ask(allowed, true).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Ask(refused, true).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

}  // namespace
}  // namespace flightplan
