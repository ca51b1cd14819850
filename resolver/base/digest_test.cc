#include "resolver/base/digest.h"

#include "gtest/gtest.h"
#include "resolver/base/checked.h"
#include "resolver/base/nearest.h"
#include "resolver/base/sha256.h"

namespace flightplan {
namespace {

// FIPS 180-4 examples; lengths on both sides of where the padding needs one more block (Python's hashlib).
TEST(Sha256Hex, EqualsTheStandardsExamples) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(Sha256Hex(std::string(55, 'x')), "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  EXPECT_EQ(Sha256Hex(std::string(56, 'x')), "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
  EXPECT_EQ(Sha256Hex(std::string(63, 'x')), "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2");
  EXPECT_EQ(Sha256Hex(std::string(64, 'x')), "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
  EXPECT_EQ(Sha256Hex(std::string(65, 'x')), "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9");
  EXPECT_EQ(Sha256Hex(std::string(119, 'x')), "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c");
  EXPECT_EQ(Sha256Hex(std::string(120, 'x')), "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98");
}

// Sizes around the ends of blocks, where the processor has instructions of its own.
TEST(Sha256, IsTheSameInBothWays) {
  if (!internal::HasSha256Instructions()) GTEST_SKIP() << "this processor has no SHA-256 instructions";
  std::string text;
  for (int i = 0; i < 7 * 64; ++i) text += static_cast<char>(i * 131 + i / 7);
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  for (size_t blocks = 0; blocks <= 7; ++blocks) {
    internal::Sha256State portably = {1, 2, 3, 4, 5, 6, 7, 8}, with_instructions = portably;
    internal::CompressPortably(data, blocks, &portably);
    internal::CompressWithInstructions(data, blocks, &with_instructions);
    EXPECT_EQ(portably, with_instructions) << blocks << " blocks";
  }
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
