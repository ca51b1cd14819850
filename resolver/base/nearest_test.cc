#include "resolver/base/nearest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
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
  EXPECT_EQ(NearestName("abcd", {"dabc", "xyz"}), "dabc");
  EXPECT_EQ(NearestName("foo", {"fp4"}, 3), "");
  EXPECT_EQ(NearestName("aaaaaaaa", {"a"}), "");
  EXPECT_EQ(NearestName("ab", {"cd"}), "");
  EXPECT_EQ(NearestName("moe", {"fp4"}, 3), "");
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

// As the matrix has it, row by row.
size_t EditsBetween(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

// Names of every length, near to each other and far, of few letters and with bytes beyond ASCII.
TEST(NearestName, IsNearByTheMatrixOfEdits) {
  std::mt19937_64 random(1);
  const auto any = [&](size_t size) {
    std::string text;
    while (text.size() < size) text += "abcd\xff\x80"[random() % 6];
    return text;
  };
  for (int n = 0; n < 20'000; ++n) {
    const std::string name = any(random() % 129);
    std::string other = random() % 4 == 0 ? any(random() % 129) : name;
    for (size_t edits = random() % 50; edits > 0; --edits) {
      const size_t at = random() % (other.size() + 1);
      other.replace(at, random() % 2, any(random() % 2));
    }
    if (other.size() > 128 || other.empty()) continue;
    const size_t allowed = std::min(std::max<size_t>(2, name.size() / 3), name.size() / 2);
    const bool near = !name.empty() && EditsBetween(name, other) <= allowed;
    ASSERT_EQ(NearestName(name, {other}) == other, near) << absl::CEscape(name) << " " << absl::CEscape(other);
  }
}

TEST(NearestName, IsCountedAsWork) {
  const std::vector<absl::string_view> known(100, "num_layers");
  const Work work(100'000);
  while (!Work::Spent()) ASSERT_EQ(NearestName("num_layerz", known), "num_layers");
  EXPECT_EQ(NearestName("num_layerz", known), "");
}

}  // namespace
}  // namespace flightplan
