#include "service/web/gzip.h"

#include <gtest/gtest.h>

namespace flightplan::service {
namespace {

TEST(Gzip, GivesBackWhatWentIn) {
  for (const std::string& text : {std::string(), std::string("a"), std::string(200'000, 'x')}) {
    const absl::StatusOr<std::string> back = Gunzip(Gzip(text), text.size());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, text);
  }
}

TEST(Gzip, ABombIsEndedAtItsBound) {
  const std::string bomb = Gzip(std::string(size_t{64} << 20, '\0'));
  EXPECT_LT(bomb.size(), size_t{1} << 20);
  EXPECT_EQ(Gunzip(bomb, size_t{1} << 20).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Gzip, WhatIsCutShortOrNoneOrLongerIsRefused) {
  const std::string packed = Gzip("hello, hello, hello");
  for (const std::string& bad :
       {packed.substr(0, packed.size() - 1), packed.substr(0, 5), std::string("hello"), packed + "x", std::string()}) {
    EXPECT_EQ(Gunzip(bad, 1000).status().code(), absl::StatusCode::kInvalidArgument) << bad.size();
  }
}

}  // namespace
}  // namespace flightplan::service
