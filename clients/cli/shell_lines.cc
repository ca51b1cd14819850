#include "clients/cli/shell_lines.h"

#include "absl/strings/str_cat.h"
#include "clients/cli/text.h"

namespace flightplan::cli {

std::vector<std::string> WrapShell(absl::string_view command, int width) {
  constexpr int kContinued = 2;  // " \\"
  std::vector<std::string> lines(1);
  bool quoted = false;
  size_t begin = 0;
  for (size_t i = 0; i <= command.size(); ++i) {
    if (i < command.size() && command[i] == '\'') quoted = !quoted;
    if (i < command.size() && (quoted || command[i] != ' ')) continue;
    const absl::string_view word = command.substr(begin, i - begin);
    begin = i + 1;
    if (!lines.back().empty() && DisplayWidth(lines.back()) + 1 + DisplayWidth(word) + kContinued > width) {
      lines.back() += " \\";
      lines.emplace_back();
    }
    absl::StrAppend(&lines.back(), lines.back().empty() ? "" : " ", word);
  }
  return lines;
}

}  // namespace flightplan::cli
