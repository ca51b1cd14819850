#include "resolver/base/path.h"

#include "gtest/gtest.h"

namespace flightplan {
namespace {

TEST(JoinedPath, IsThePlainestSpelling) {
  EXPECT_EQ(JoinedPath("a/b", "../c.yaml"), "a/c.yaml");
  EXPECT_EQ(JoinedPath("a/", "./c.yaml"), "a/c.yaml");
  EXPECT_EQ(JoinedPath("a", "../../c.yaml"), "../c.yaml");
  EXPECT_EQ(JoinedPath("/a", "b//c.yaml"), "/a/b/c.yaml");
  EXPECT_EQ(JoinedPath("a", "/b/./c.yaml"), "/b/c.yaml");
  EXPECT_EQ(JoinedPath("/a", "../../c.yaml"), "/c.yaml");
  EXPECT_EQ(PlainPath("examples/./x.yaml"), "examples/x.yaml");
  EXPECT_EQ(PlainPath(""), "");
}

}  // namespace
}  // namespace flightplan
