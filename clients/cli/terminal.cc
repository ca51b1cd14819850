#include "clients/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/cli/text.h"

namespace flightplan::cli {
namespace {

constexpr int kMinWidth = 60;   // below it, tables are cut beyond use
constexpr int kMaxWidth = 160;  // above it, the eye loses the row

absl::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? absl::string_view() : value;
}

int DetectWidth(bool tty) {
  int width = 0;
  winsize size{};
  if (absl::SimpleAtoi(Variable("COLUMNS"), &width) && width > 0) {
    // A user who sets it means it, also in a pipe.
  } else if (tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    width = size.ws_col;
  } else {
    width = Terminal::kDefaultWidth;
  }
  return std::clamp(width, kMinWidth, kMaxWidth);
}

bool DetectUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = absl::AsciiStrToLower(Variable(name));
    if (!value.empty()) return absl::StrContains(value, "utf-8") || absl::StrContains(value, "utf8");
  }
  return false;
}

absl::string_view Code(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "1";
    case Style::kDim:
      return "2";
    case Style::kRed:
      return "1;31";
    case Style::kGreen:
      return "1;32";
    case Style::kYellow:
      return "33";
  }
  return "";
}

}  // namespace

Terminal Terminal::Detect() {
  const bool tty = isatty(STDOUT_FILENO) != 0;
  Terminal terminal;
  terminal.interactive = tty;
  terminal.width = DetectWidth(tty);
  terminal.color = tty && Variable("NO_COLOR").empty() && Variable("TERM") != "dumb";
  terminal.utf8 = DetectUtf8();
  return terminal;
}

std::string Terminal::Shown(absl::string_view text) const { return utf8 ? Harmless(text) : ToAscii(Harmless(text)); }

std::string Terminal::ShownLines(absl::string_view text) const {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) lines.push_back(Shown(line));
  return absl::StrJoin(lines, "\n");
}

std::string Terminal::Paint(absl::string_view text, Style style) const {
  if (!color || style == Style::kPlain || text.empty()) return std::string(text);
  return absl::StrCat("\x1b[", Code(style), "m", text, "\x1b[0m");
}

}  // namespace flightplan::cli
