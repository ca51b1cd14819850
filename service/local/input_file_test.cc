#include "service/local/input_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::service {
namespace {

class InputFileTest : public testing::Test {
 protected:
  std::string Path() const { return folder_.File("file"); }
  std::string Write(const std::string& text) const {
    std::ofstream(Path(), std::ios::binary) << text;
    return Path();
  }
  std::vector<std::string> Lines(const std::string& text, size_t line_limit, size_t total_limit, absl::Status* end) {
    LineReader reader(*InputFile::Open(Write(text)), line_limit, total_limit);
    std::vector<std::string> lines;
    for (;;) {
      const auto line = reader.Next();
      *end = line.status();
      if (!line.ok() || !line->has_value()) return lines;
      lines.emplace_back(**line);
      EXPECT_EQ(reader.number(), static_cast<int>(lines.size()));
    }
  }

  const TemporaryFolder folder_;
};

TEST_F(InputFileTest, ReadsUpToItsLimit) {
  EXPECT_EQ(*ReadWholeFile(Write(std::string(1024, 'x')), 1024), std::string(1024, 'x'));
  const auto larger = ReadWholeFile(Write(std::string(1025, 'x')), 1024);
  EXPECT_EQ(larger.status().message(), absl::StrCat(Path(), " is larger than 1 KiB"));
  EXPECT_EQ(*ReadWholeFile(Write(""), 1024), "");
  EXPECT_TRUE(absl::StrContains(ReadWholeFile("/dev/zero", 100).status().message(), "larger than 100 bytes"));
}

TEST_F(InputFileTest, WhatIsNoFileIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo(Path().c_str(), 0600), 0);
  EXPECT_EQ(ReadWholeFile(Path(), 10).status().message(), absl::StrCat(Path(), " is a named pipe, not a file"));
  EXPECT_EQ(ReadWholeFile(folder_.path(), 10).status().message(),
            absl::StrCat(folder_.path(), " is a folder, not a file"));
  EXPECT_TRUE(
      absl::StrContains(ReadWholeFile("/missing", 10).status().message(), "cannot read /missing: No such file"));
}

TEST_F(InputFileTest, APipeOfAShellIsRead) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "text", 4), 4);
  close(ends[1]);
  EXPECT_EQ(*ReadWholeFile(absl::StrCat("/dev/fd/", ends[0]), 10), "text");
  close(ends[0]);
}

TEST_F(InputFileTest, LinesAreThoseOfTheFile) {
  absl::Status end;
  EXPECT_EQ(Lines("a\n\nb", 10, 100, &end), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_TRUE(end.ok());
  EXPECT_EQ(Lines("", 10, 100, &end), std::vector<std::string>());
  EXPECT_EQ(Lines("\n", 10, 100, &end), std::vector<std::string>{""});
  const std::string large(100'000, 'x');  // over several pieces
  EXPECT_EQ(Lines(absl::StrCat("a\n", large, "\n", large, "\nb\n"), 100'000, 1 << 20, &end),
            (std::vector<std::string>{"a", large, large, "b"}));
  EXPECT_TRUE(end.ok());
}

TEST_F(InputFileTest, LinesHaveLimits) {
  absl::Status end;
  EXPECT_EQ(Lines("12345\n", 5, 100, &end).size(), 1u);
  EXPECT_TRUE(end.ok());
  EXPECT_EQ(Lines("a\n123456\n", 5, 100, &end).size(), 1u);
  EXPECT_TRUE(absl::StrContains(end.message(), "line 2 is larger than 5 bytes")) << end;
  Lines("a\nb\n", 5, 3, &end);
  EXPECT_TRUE(absl::StrContains(end.message(), "is larger than 3 bytes")) << end;
  LineReader endless(*InputFile::Open("/dev/zero"), size_t{1} << 20, size_t{1} << 30);
  EXPECT_TRUE(absl::StrContains(endless.Next().status().message(), "line 1 is larger than 1 MiB"));
}

}  // namespace
}  // namespace flightplan::service
