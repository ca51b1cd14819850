#include "resolver/base/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "resolver/base/work.h"

namespace flightplan {
namespace {

TEST(NearestName, IsTheOneWithTheFewestEdits) {
  const std::vector<absl::string_view> known = {"num_layers", "num_query_groups", "num_moe_experts", "hidden_size"};
  EXPECT_EQ(NearestName("num_layerz", known), "num_layers");
  EXPECT_EQ(NearestName("nm_layers", known), "num_layers");
  EXPECT_EQ(NearestName("num_moe_expertss", known), "num_moe_experts");
  EXPECT_EQ(NearestName("layers_num", known), "");
  EXPECT_EQ(NearestName("", known), "");
}

// The same characters in another order, more of one character, none in common: what a look at the letters lets pass,
// and what it does not.
TEST(NearestName, CountsEditsAndNotLetters) {
  EXPECT_EQ(NearestName("abc", {"cab", "xyz"}), "cab");
  EXPECT_EQ(NearestName("aaaaaaaa", {"a"}), "");
  EXPECT_EQ(NearestName("ab", {"cd"}), "cd");
  EXPECT_EQ(NearestName("abcd", {"efgh"}), "");
}

TEST(NearestName, TakesTheFirstOfTheAlphabetWhereTwoAreAsNear) {
  EXPECT_EQ(NearestName("size_c", {"size_b", "size_a"}), "size_a");
}

TEST(NearestName, IsNoneOfAVeryLongName) {
  const std::string longest(128, 'a'), longer(129, 'a');
  EXPECT_EQ(NearestName(longest, {longest}), longest);
  EXPECT_EQ(NearestName(longer, {longest}), "");
  EXPECT_EQ(NearestName(longest, {longer}), "");
}

TEST(NearestName, IsCountedAsWork) {
  const std::vector<absl::string_view> known(100, "num_layers");
  const Work work(100'000);
  while (!Work::Spent()) ASSERT_EQ(NearestName("num_layerz", known), "num_layers");
  EXPECT_EQ(NearestName("num_layerz", known), "");
}

}  // namespace
}  // namespace flightplan
