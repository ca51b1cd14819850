#include "resolver/render/shell_transform.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/base/work.h"
#include "resolver/render/shell_raw.h"

namespace flightplan {
namespace {

using Text = std::optional<std::string>;  // nothing: not followed

enum class Side { kFront, kEnd };
enum class Match { kShortest, kLongest };

// What is left of the text without the part at this side that matches.
template <Side side, Match match>
Text Cut(absl::string_view text, absl::string_view pattern) {
  for (size_t i = 0; i <= text.size() && text.size() <= kMaxGlobText && !Work::Spent(); ++i) {
    const size_t length = match == Match::kLongest ? text.size() - i : i;
    const size_t rest = text.size() - length;
    if (MatchesGlob(pattern, side == Side::kFront ? text.substr(0, length) : text.substr(rest))) {
      return std::string(side == Side::kFront ? text.substr(length) : text.substr(0, rest));
    }
  }
  return std::string(text);
}

// `argument`: what is sought, a slash, what takes its place. Patterns are not followed.
template <bool all>
Text Replace(absl::string_view text, absl::string_view argument) {
  const size_t slash = argument.find('/');
  const absl::string_view sought = argument.substr(0, slash);
  const absl::string_view replacement = slash == absl::string_view::npos ? "" : argument.substr(slash + 1);
  if (sought.empty() || sought.find_first_of("*?[") != absl::string_view::npos) return std::nullopt;
  std::string replaced;
  size_t at = 0;
  for (size_t hit = text.find(sought); hit != absl::string_view::npos; hit = text.find(sought, at)) {
    absl::StrAppend(&replaced, text.substr(at, hit - at), replacement);
    at = hit + sought.size();
    if (!all || replaced.size() > kMaxExpandedBytes) break;
  }
  absl::StrAppend(&replaced, text.substr(at));
  return replaced;
}

// ${NAME^^pattern} is not followed.
Text ToUpper(absl::string_view text, absl::string_view pattern) {
  return pattern.empty() ? Text(absl::AsciiStrToUpper(text)) : std::nullopt;
}
Text ToLower(absl::string_view text, absl::string_view pattern) {
  return pattern.empty() ? Text(absl::AsciiStrToLower(text)) : std::nullopt;
}

struct Transform {
  absl::string_view sign;
  Text (*apply)(absl::string_view text, absl::string_view argument);  // the argument stands behind the sign
};
// The longer before those they begin with.
constexpr Transform kTransforms[] = {
    {"##", Cut<Side::kFront, Match::kLongest>},
    {"#", Cut<Side::kFront, Match::kShortest>},
    {"%%", Cut<Side::kEnd, Match::kLongest>},
    {"%", Cut<Side::kEnd, Match::kShortest>},
    {"//", Replace<true>},
    {"/", Replace<false>},
    {"^^", ToUpper},
    {",,", ToLower},
};

}  // namespace

std::optional<ShellWords> TransformShellWords(const ShellWords& values, absl::string_view operation) {
  const Transform* transform = nullptr;
  for (const Transform& row : kTransforms) {
    if (transform == nullptr && absl::ConsumePrefix(&operation, row.sign)) transform = &row;
  }
  if (transform == nullptr) return std::nullopt;
  ShellWords results;
  for (const ShellWord& value : values) {
    Work::Spend(2 * value.value.text.size());
    const Text text = transform->apply(value.value.text, operation);
    if (!text.has_value()) return std::nullopt;
    ShellWord result{TracedText::FromOutside(*text), value.offset};
    if (value.value.unknown()) result.value.MarkUnknown();
    result.value.assumed = value.value.assumed;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace flightplan
