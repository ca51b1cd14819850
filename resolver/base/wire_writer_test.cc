#include "resolver/base/wire_writer.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace flightplan {
namespace {

std::string Hex(const WireWriter& w) { return absl::BytesToHexString(w.bytes()); }

// The encodings of protobuf's own documentation (protobuf.dev/programming-guides/encoding).
TEST(WireWriter, WritesTheExamplesOfTheEncodingGuide) {
  WireWriter w(64);
  w.Int(1, 150);
  w.Text(2, "testing");
  w.PutMessage(3, [&] { w.Int(1, 150); });
  EXPECT_EQ(Hex(w), "089601120774657374696e671a03089601");
}

TEST(WireWriter, LeavesOutDefaultsUnlessTheyArePut) {
  WireWriter w(64);
  w.Int(1, 0);
  w.Bool(2, false);
  w.Real(3, 0.0);
  w.Text(4, "");
  EXPECT_EQ(Hex(w), "");
  w.PutInt(1, 0);
  w.PutBool(2, false);
  w.PutReal(3, 0.0);
  w.PutText(4, absl::string_view());
  w.PutMessage(5, [] {});
  EXPECT_EQ(Hex(w), "0800100019000000000000000022002a00");
}

TEST(WireWriter, WritesNegativeNumbersInTenBytesAndRealsLittleEndian) {
  WireWriter w(64);
  w.Int(1, -1);
  w.Real(2, 1.0);
  w.Real(3, -0.0);  // not the default
  w.PutInt(200, 1);
  EXPECT_EQ(Hex(w), "08ffffffffffffffffff0111000000000000f03f190000000000000080c00c01");
}

TEST(WireWriter, GivesEveryLengthItsShortestForm) {
  for (const size_t size : {0, 1, 125, 126, 127, 128, 16380, 16381, 16384, 2097149, 2097152}) {
    WireWriter w(1);  // grows
    const std::string text(size, 'x');
    w.PutMessage(1, [&] { w.PutMessage(2, [&] { w.PutText(3, text); }); });
    w.Int(4, 7);
    const auto varint = [](size_t value) {
      std::string bytes;
      for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
      return bytes + static_cast<char>(value);
    };
    const std::string inner = absl::StrCat("\x1a", varint(size), text);
    const std::string outer = absl::StrCat("\x12", varint(inner.size()), inner);
    EXPECT_TRUE(w.bytes() == absl::StrCat("\x0a", varint(outer.size()), outer, "\x20\x07")) << size;
  }
}

TEST(WireWriter, GivesItsBytesAway) {
  WireWriter w(64);
  w.PutMapEntry(1, "a", "");
  const WireBytes bytes = std::move(w).Take();
  EXPECT_EQ(absl::BytesToHexString(bytes.view()), "0a050a01611200");
}

}  // namespace
}  // namespace flightplan
