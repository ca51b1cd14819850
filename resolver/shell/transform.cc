#include "resolver/shell/transform.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/base/work.h"
#include "resolver/shell/raw.h"

namespace flightplan {
namespace {

using Text = std::optional<std::string>;  // nothing: not followed

enum class Side { kFront, kEnd };
enum class Match { kShortest, kLongest };

bool IsPattern(absl::string_view pattern) { return pattern.find_first_of("*?[") != absl::string_view::npos; }

bool WithinGlobLimits(absl::string_view text, absl::string_view pattern) {
  return text.size() <= kMaxGlobText && pattern.size() <= kMaxGlobBytes;
}

// What is left of the text without the part at this side that matches.
template <Side side, Match match>
Text Cut(absl::string_view text, absl::string_view pattern) {
  if (!WithinGlobLimits(text, pattern)) return std::nullopt;
  for (size_t i = 0; i <= text.size() && !Work::Spent(); ++i) {
    const size_t length = match == Match::kLongest ? text.size() - i : i;
    const size_t rest = text.size() - length;
    if (MatchesGlob(pattern, side == Side::kFront ? text.substr(0, length) : text.substr(rest))) {
      return std::string(side == Side::kFront ? text.substr(length) : text.substr(0, rest));
    }
  }
  return std::string(text);
}

// Where what is sought stands in a text, from `at` on. Nothing: nowhere.
struct Found {
  size_t begin = 0, end = 0;
};
enum class Anchor { kNone, kFront, kEnd };

std::optional<Found> Find(absl::string_view text, absl::string_view sought, Anchor anchor, size_t at) {
  if (!IsPattern(sought) && anchor == Anchor::kNone) {
    const size_t hit = text.find(sought, at);
    return hit == absl::string_view::npos ? std::nullopt : std::optional(Found{hit, hit + sought.size()});
  }
  const size_t last = anchor == Anchor::kFront ? at : text.size();
  for (size_t begin = at; begin <= last && !Work::Spent(); ++begin) {
    const size_t shortest = anchor == Anchor::kEnd ? text.size() : begin;
    for (size_t end = text.size() + 1; end-- > shortest && !Work::Spent();) {
      if (MatchesGlob(sought, text.substr(begin, end - begin))) return Found{begin, end};
    }
  }
  return std::nullopt;
}

// `argument`: what is sought, a slash, what takes its place. In this, & is not followed: releases of bash differ.
template <bool all>
Text Replace(absl::string_view text, absl::string_view argument) {
  const size_t slash = argument.find('/');
  absl::string_view sought = argument.substr(0, slash);
  const absl::string_view replacement = slash == absl::string_view::npos ? "" : argument.substr(slash + 1);
  const Anchor anchor = all                                 ? Anchor::kNone
                        : absl::ConsumePrefix(&sought, "#") ? Anchor::kFront
                        : absl::ConsumePrefix(&sought, "%") ? Anchor::kEnd
                                                            : Anchor::kNone;
  const bool literal = !IsPattern(sought) && anchor == Anchor::kNone;
  if (literal && sought.empty()) return std::nullopt;
  if ((!literal && !WithinGlobLimits(text, sought)) || absl::StrContains(replacement, '&')) {
    return std::nullopt;
  }
  std::string replaced;
  size_t at = 0;
  for (std::optional<Found> found = Find(text, sought, anchor, 0); found.has_value();
       found = Find(text, sought, anchor, at)) {
    absl::StrAppend(&replaced, text.substr(at, found->begin - at), replacement);
    at = found->end;
    if (!all || at == text.size() || replaced.size() > kMaxExpandedBytes) break;
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

// The first letter alone.
template <char (*convert)(unsigned char c)>
Text Initial(absl::string_view text, absl::string_view pattern) {
  if (!pattern.empty()) return std::nullopt;
  std::string changed(text);
  if (!changed.empty()) changed[0] = convert(static_cast<unsigned char>(changed[0]));
  return changed;
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
    {"^", Initial<absl::ascii_toupper>},
    {",", Initial<absl::ascii_tolower>},
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
