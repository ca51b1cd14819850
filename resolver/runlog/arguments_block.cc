#include "resolver/runlog/arguments_block.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace flightplan {
namespace {

constexpr size_t kLongestName = 96;

bool IsNameByte(char byte) { return absl::ascii_isalnum(static_cast<unsigned char>(byte)) || byte == '_'; }

// "---------- arguments ----------"
bool IsRule(absl::string_view line, absl::string_view title) {
  line = absl::StripAsciiWhitespace(line);
  return absl::StartsWith(line, "----") && absl::StrContains(line, title) && absl::EndsWith(line, "----");
}

}  // namespace

void ArgumentsReader::Read(absl::string_view line, bool complete) {
  if (IsRule(line, " end of arguments ")) {
    inside_ = false;
    return;
  }
  if (IsRule(line, " arguments ")) {
    inside_ = true;
    arguments_.clear();
    return;
  }
  if (!inside_) return;
  // "  tensor_model_parallel_size ...................... 8"
  line = absl::StripAsciiWhitespace(line);
  const size_t name_end = static_cast<size_t>(std::find_if_not(line.begin(), line.end(), IsNameByte) - line.begin());
  if (name_end == 0 || name_end > kLongestName || name_end == line.size() || line[name_end] != ' ') return;
  absl::string_view rest = line.substr(name_end + 1);
  const size_t dots = std::min(rest.find_first_not_of('.'), rest.size());
  if (dots == 0 && name_end < 48) return;
  rest.remove_prefix(dots);
  if (!complete || rest.size() > kLongestValue || arguments_.size() >= kMostArguments) return;
  arguments_[std::string(line.substr(0, name_end))] = std::string(absl::StripAsciiWhitespace(rest));
}

}  // namespace flightplan
