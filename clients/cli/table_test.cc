#include "clients/cli/table.h"

#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "clients/cli/text.h"
#include "tests/support/golden.h"

namespace flightplan::cli {
namespace {

Table Decisions(int reason_lines) {
  Table table({{.max_width = 36, .min_width = 12, .shrink = true},
               {.max_width = 16},
               {.min_width = 20, .max_lines = reason_lines, .shrink = true},
               {.right = true}});
  table.Row({Cell("decided", Style::kBold), "", Cell("because", Style::kDim), "step"});
  table.Row(
      {"moe_token_dispatcher_type", Cell("flex", Style::kGreen), "EP 64 spans 8 NVLink domains × 8 GPUs", "-14 %"});
  table.Row({"recompute_modules", "mla_up_proj,mlp",
             "saves 11 GiB for 3 % of the step, and nothing else that was tried does", "+3 %"});
  table.Row({"模型", "on"});
  return table;
}

TEST(Table, FitsWideAndNarrowTerminals) {
  Terminal terminal;
  std::string text;
  for (const int width : {120, 80, 60}) {
    terminal.width = width;
    absl::StrAppend(&text, "-- ", width, "\n", Decisions(2).Render(terminal));
  }
  ExpectGolden("table.txt", text);
}

TEST(Table, KeepsToTheWidth) {
  Terminal terminal;
  for (int width = 60; width <= 160; ++width) {
    terminal.width = width;
    for (absl::string_view line : absl::StrSplit(Decisions(0).Render(terminal), '\n')) {
      EXPECT_LE(DisplayWidth(line), width);
      EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
    }
  }
}

TEST(Table, NeedsNoUtf8) {
  Terminal terminal;
  terminal.width = 70;
  terminal.utf8 = false;
  for (const char c : Decisions(1).Render(terminal)) EXPECT_LT(static_cast<unsigned char>(c), 0x80U);
}

TEST(Table, PaintsWithoutMovingColumns) {
  Terminal plain;
  Terminal colour;
  colour.color = true;
  std::string painted = Decisions(1).Render(colour);
  EXPECT_NE(painted.find("\x1b[1;32mflex\x1b[0m"), std::string::npos);
  for (size_t at; (at = painted.find('\x1b')) != std::string::npos;) painted.erase(at, painted.find('m', at) - at + 1);
  EXPECT_EQ(painted, Decisions(1).Render(plain));
}

}  // namespace
}  // namespace flightplan::cli
