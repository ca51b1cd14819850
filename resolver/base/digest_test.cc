#include "resolver/base/digest.h"

#include "gtest/gtest.h"
#include "resolver/base/checked.h"
#include "resolver/base/nearest.h"

namespace flightplan {
namespace {

// FIPS 180-4 examples, and lengths around the padding's edge.
TEST(Sha256Hex, EqualsTheStandardsExamples) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Checked, RemembersAnOverflow) {
  EXPECT_EQ((Checked(7) * 6 + 1 - 3).value(), 40);
  EXPECT_TRUE((Checked(INT64_MAX) - 1 + 1).ok());
  EXPECT_FALSE((Checked(INT64_MAX) + 1 - 1).ok());
  EXPECT_FALSE((Checked(int64_t{1} << 62) * 2).ok());
  EXPECT_FALSE((Checked(int64_t{1} << 62) * 2 - (int64_t{1} << 62)).ok());
}

TEST(NearestName, FindsAMisspeltNameAndNothingElse) {
  EXPECT_EQ(NearestName("qwen3-30b", {"qwen3-32b", "qwen3-8b", "mixtral"}), "qwen3-32b");
  EXPECT_EQ(NearestName("entirely-different", {"qwen3-32b", "mixtral"}), "");
  EXPECT_EQ(NearestName("ab", {"aa", "bb"}), "aa");
  EXPECT_EQ(NearestName(std::string(1000, 'a'), {"aa"}), "");
}

}  // namespace
}  // namespace flightplan
