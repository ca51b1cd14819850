#include "clients/cli/observe/inflate.h"

#include <zlib.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace flightplan::cli {
namespace {

std::string Pack(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string from = text, packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(from.data());
  stream.avail_in = static_cast<uInt>(from.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

std::string Unpack(const std::string& packed, size_t piece, bool* broken) {
  Inflater inflater;
  std::string text;
  for (size_t at = 0; at < packed.size(); at += piece) {
    inflater.Push(absl::string_view(packed).substr(at, piece),
                  [&](absl::string_view part) { text.append(part.data(), part.size()); });
  }
  *broken = inflater.broken();
  return text;
}

std::string Text() {
  std::string text;
  for (int i = 0; i < 50000; ++i) text += std::to_string(i * 7919) + "\n";
  return text;
}

TEST(Inflater, UnpacksFilesBehindEachOtherInAnyPieces) {
  const std::string text = Text(), packed = Pack(text) + Pack("more\n") + Pack(text);
  for (const size_t piece : {size_t{1}, size_t{1000}, packed.size()}) {
    bool broken = true;
    EXPECT_EQ(Unpack(packed, piece, &broken), absl::StrCat(text, "more\n", text)) << piece;
    EXPECT_FALSE(broken) << piece;
  }
}

TEST(Inflater, TakesWhatIsThereOfAFileThatEndsEarly) {
  const std::string text = Text(), packed = Pack(text);
  bool broken = true;
  const std::string part = Unpack(packed.substr(0, packed.size() / 2), 4096, &broken);
  EXPECT_FALSE(broken);
  EXPECT_GT(part.size(), 1000U);
  EXPECT_EQ(text.substr(0, part.size()), part);
}

TEST(Inflater, StopsWhereAFileIsDamaged) {
  std::string packed = Pack(Text());
  for (size_t i = 0; i < 40; ++i) packed[packed.size() / 2 + i] = '\xff';
  bool broken = false;
  (void)Unpack(packed, 4096, &broken);
  EXPECT_TRUE(broken);
}

}  // namespace
}  // namespace flightplan::cli
