#include "clients/cli/rpc/framing.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/conversation.h"

namespace flightplan::cli {
namespace {

constexpr size_t kMost = 100;

// "a|b": messages; "(too long)", "(broken)" where it says so.
std::string Read(Framing framing, const std::string& bytes) {
  Scratch in(bytes);
  FrameReader reader(in.descriptor(), framing, kMost);
  std::string all, message;
  for (int i = 0; i < 100; ++i) {
    const FrameEnd end = reader.Next(&message);
    if (end == FrameEnd::kEnd) return all;
    absl::StrAppend(&all, all.empty() ? "" : "|",
                    end == FrameEnd::kMessage   ? message
                    : end == FrameEnd::kTooLong ? "(too long)"
                                                : "(broken)");
    if (end == FrameEnd::kBroken) return all;
  }
  return "endless";
}

TEST(FrameReader, ReadsLines) {
  EXPECT_EQ(Read(Framing::kLines, "a\nb\r\n\n  \nc"), "a|b|c");
  EXPECT_EQ(Read(Framing::kLines, ""), "");
}

TEST(FrameReader, PassesOverALineThatIsTooLong) {
  EXPECT_EQ(Read(Framing::kLines, absl::StrCat(std::string(kMost + 1, 'x'), "\nb\n")), "(too long)|b");
  EXPECT_EQ(Read(Framing::kLines, absl::StrCat(std::string(1 << 20, 'x'), "\nb\n")), "(too long)|b");
  EXPECT_EQ(Read(Framing::kLines, std::string(1 << 20, 'x')), "");
}

TEST(FrameReader, ReadsBodiesAfterHeaders) {
  EXPECT_EQ(Read(Framing::kHeaders, Framed(Framing::kHeaders, "one") + Framed(Framing::kHeaders, "")), "one|");
  EXPECT_EQ(Read(Framing::kHeaders, "content-length:3\r\nContent-Type: x/y\r\n\r\nabc"), "abc");
  EXPECT_EQ(Read(Framing::kHeaders, "Content-Length: 5\r\n\r\nab"), "");  // it ends in the middle
}

TEST(FrameReader, PassesOverABodyThatIsTooLong) {
  const std::string body(1 << 20, 'x');
  EXPECT_EQ(Read(Framing::kHeaders, Framed(Framing::kHeaders, body) + Framed(Framing::kHeaders, "b")), "(too long)|b");
}

TEST(FrameReader, GivesUpOnHeadersWithoutALength) {
  for (const char* bytes : {"nonsense\r\n\r\n", "Content-Length: -1\r\n\r\n", "Content-Length: 99999999999999\r\n\r\n",
                            "Content-Length: x\r\n\r\n", "Content-Length: 9999999999999999999999\r\n\r\n"}) {
    EXPECT_EQ(Read(Framing::kHeaders, bytes), "(broken)") << bytes;
  }
  EXPECT_EQ(Read(Framing::kHeaders, std::string(1 << 20, 'x') + "\n"), "(broken)");
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "A: b\r\n";
  EXPECT_EQ(Read(Framing::kHeaders, many), "(broken)");
}

}  // namespace
}  // namespace flightplan::cli
