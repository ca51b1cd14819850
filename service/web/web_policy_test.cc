#include "service/web/web_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flightplan::service {
namespace {

using ::testing::HasSubstr;

HttpRequest Request(std::vector<HttpHeader> headers, const std::string& method = "POST") {
  HttpRequest request;
  request.method = method;
  request.headers = std::move(headers);
  return request;
}

// 0: let in.
int Refused(const WebPolicy& policy, std::vector<HttpHeader> headers, bool call = true) {
  const auto refusal = policy.Refusal(Request(std::move(headers)), call);
  return refusal.has_value() ? refusal->status : 0;
}

TEST(WebPolicy, NamesOfLoopbackAndThoseListedAreOurs) {
  const WebPolicy policy({{"plan.example.com"}, {}, "10.1.2.3:8080", false});
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]", "[::1]:8080", "plan.example.com",
                           "Plan.Example.COM:443", "plan.example.com.", "10.1.2.3:8080"}) {
    EXPECT_EQ(Refused(policy, {{"host", host}}), 0) << host;
  }
  for (const char* host : {"", "evil.com", "localhost.evil.com", "127.0.0.1.evil.com", "plan.example.com.evil.com",
                           "[::1", "0.0.0.0", "127.0.0.2", "a:b:c", ":80"}) {
    EXPECT_EQ(Refused(policy, {{"host", host}}), 403) << host;
  }
  EXPECT_EQ(Refused(policy, {}), 403);
}

TEST(WebPolicy, AWildcardAddressIsNoName) {
  const WebPolicy policy({{}, {}, "0.0.0.0:8080", false});
  EXPECT_EQ(Refused(policy, {{"host", "0.0.0.0:8080"}}), 403);
  EXPECT_THAT(policy.Refusal(Request({{"host", "x"}}), true)->body, HasSubstr("--web_host"));
}

TEST(WebPolicy, PagesOfOtherOriginsAskOnlyIfListed) {
  const WebPolicy policy({{}, {"https://notebook.example.com"}, "127.0.0.1:8080", false});
  const HttpHeader host = {"host", "localhost:8080"};
  EXPECT_EQ(Refused(policy, {host, {"origin", "http://localhost:8080"}}), 0);
  EXPECT_EQ(Refused(policy, {host, {"origin", "https://notebook.example.com"}}), 0);
  for (const char* origin : {"https://localhost:8080", "http://localhost:81", "null", "", "http://evil.com",
                             "https://notebook.example.com.evil.com", "http://notebook.example.com"}) {
    EXPECT_EQ(Refused(policy, {host, {"origin", origin}}), 403) << origin;
  }
  EXPECT_TRUE(policy.ReadableBy(Request({host, {"origin", "http://localhost:8080"}})).empty());
  EXPECT_EQ(policy.ReadableBy(Request({host, {"origin", "https://notebook.example.com"}})).front().value,
            "https://notebook.example.com");
}

TEST(WebPolicy, WhatAForeignPageLoadsWithoutAnOriginIsRefused) {
  const WebPolicy policy({{}, {}, "127.0.0.1:8080", false});
  const HttpHeader host = {"host", "localhost:8080"};
  EXPECT_EQ(Refused(policy, {host, {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "no-cors"}}), 403);
  EXPECT_EQ(Refused(policy, {host, {"sec-fetch-site", "same-site"}}), 403);
  EXPECT_EQ(Refused(policy, {host, {"sec-fetch-site", "same-origin"}}), 0);
  EXPECT_EQ(Refused(policy, {host, {"sec-fetch-site", "none"}, {"sec-fetch-mode", "navigate"}}), 0);
  EXPECT_EQ(Refused(policy, {host, {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}}, false), 0)
      << "a link to the page";
  EXPECT_EQ(Refused(policy, {host, {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}}), 403);
}

TEST(WebPolicy, OptionsAreAnsweredToPages) {
  const WebPolicy policy({{}, {"https://n.example.com"}, "127.0.0.1:8080", true});
  EXPECT_EQ(policy.Preflight(Request({{"origin", "https://n.example.com"}}, "OPTIONS"))->status, 204);
  EXPECT_FALSE(policy.Preflight(Request({}, "OPTIONS")).has_value());
  EXPECT_FALSE(policy.Preflight(Request({{"origin", "https://n.example.com"}}, "POST")).has_value());
}

}  // namespace
}  // namespace flightplan::service
