#include "service/net/listen_address.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace flightplan::service {
namespace {

std::string Halves(absl::string_view address) {
  const std::optional<HostPort> at = SplitHostPort(address);
  return at.has_value() ? absl::StrCat(at->host, " ", at->port) : "none";
}

TEST(SplitHostPort, TakesHostAndPortApart) {
  EXPECT_EQ(Halves("127.0.0.1:50051"), "127.0.0.1 50051");
  EXPECT_EQ(Halves("[::1]:1"), "::1 1");
  EXPECT_EQ(Halves("[::]:1"), ":: 1");
  EXPECT_EQ(Halves(":9464"), " 9464");
  EXPECT_EQ(Halves("localhost:"), "localhost ");
}

TEST(SplitHostPort, TakesNothingThatHasTwoReadings) {
  for (const char* address :
       {"", "localhost", "9464", "::1:50051", ":::1", "[::1:50051", "::1]:50051", "ipv4:1.2.3.4:5"}) {
    EXPECT_EQ(Halves(address), "none") << address;
  }
}

TEST(SplitHostPort, TakesNoPortThatTcpHasNot) {
  EXPECT_EQ(Halves("127.0.0.1:65535"), "127.0.0.1 65535");
  for (const char* address :
       {"127.0.0.1:65536", "127.0.0.1:99999", "[::1]:4294967297", "127.0.0.1:-1", "127.0.0.1:http", "127.0.0.1: 80"}) {
    EXPECT_EQ(Halves(address), "none") << address;
  }
}

TEST(IsLoopback, HoldsForThisMachineAlone) {
  for (const char* address : {"unix:/run/x", "127.0.0.1:1", "127.8.9.10:1", "localhost:1", "[::1]:1"}) {
    EXPECT_TRUE(IsLoopback(address)) << address;
  }
  for (const char* address : {"0.0.0.0:1", "[::]:1", ":1", "127.0.0.1.example.com:1", "localhost.example.com:1",
                              "::1:50051", "1.2.3.4:1", "unix-abstract:x", "127.0.0.1"}) {
    EXPECT_FALSE(IsLoopback(address)) << address;
  }
}

}  // namespace
}  // namespace flightplan::service
