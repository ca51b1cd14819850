#include "resolver/shell/brace_lists.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/base/saturating.h"
#include "resolver/base/work.h"
#include "resolver/shell/raw.h"

namespace flightplan {
namespace {

constexpr int kMaxDepth = 8;      // of lists inside lists; bash scripts have two
constexpr size_t kPartCosts = 4;  // in units of base/work.h, beside its bytes: a step of the search for a '}'

// The '{' of a list, its '}' and the commas between them that are its own.
struct List {
  size_t open = 0, close = 0;
  std::vector<size_t> commas;
};

// The sequence X..Y or X..Y..STEP of integers or of letters; nothing: it is none. Integers with a zero in front are all
// as wide as the widest.
struct Sequence {
  int64_t first = 0, last = 0, step = 1;
  size_t width = 0;
  bool letters = false;

  uint64_t Count() const {
    const uint64_t distance = first < last ? static_cast<uint64_t>(last) - static_cast<uint64_t>(first)
                                           : static_cast<uint64_t>(first) - static_cast<uint64_t>(last);
    return distance / static_cast<uint64_t>(step) + 1;
  }
  std::string Item(uint64_t i) const {
    const auto away = static_cast<int64_t>(i) * step;
    const int64_t value = first < last ? first + away : first - away;
    if (letters) return std::string(1, static_cast<char>(value));
    const std::string digits = absl::StrCat(value < 0 ? -value : value);
    const size_t sign = value < 0 ? 1 : 0;
    const size_t zeros = width > digits.size() + sign ? width - digits.size() - sign : 0;
    return absl::StrCat(value < 0 ? "-" : "", std::string(zeros, '0'), digits);
  }
};

bool ZeroInFront(absl::string_view number) {
  if (!number.empty() && number[0] == '-') number.remove_prefix(1);
  return number.size() > 1 && number[0] == '0';
}

std::optional<Sequence> ReadSequence(absl::string_view text) {
  const std::vector<absl::string_view> ends = absl::StrSplit(text, "..");
  if (ends.size() < 2 || ends.size() > 3) return std::nullopt;
  constexpr int64_t kFarthest = int64_t{1} << 40;
  Sequence sequence;
  const auto number = [](absl::string_view word, int64_t* value) {
    return !word.empty() && word[0] != '+' && absl::SimpleAtoi(word, value) && WithinBound(*value, kFarthest);
  };
  if (ends.size() == 3) {
    if (!number(ends[2], &sequence.step)) return std::nullopt;
    sequence.step = std::max<int64_t>(1, std::abs(sequence.step));
  }
  if (number(ends[0], &sequence.first) && number(ends[1], &sequence.last)) {
    if (ZeroInFront(ends[0]) || ZeroInFront(ends[1])) sequence.width = std::max(ends[0].size(), ends[1].size());
    return sequence;
  }
  const auto letter = [](absl::string_view word) {
    return word.size() == 1 && absl::ascii_isalpha(static_cast<unsigned char>(word[0]));
  };
  if (!letter(ends[0]) || !letter(ends[1])) return std::nullopt;
  sequence.letters = true;
  sequence.first = static_cast<unsigned char>(ends[0][0]);
  sequence.last = static_cast<unsigned char>(ends[1][0]);
  return sequence;
}

class Expander {
 public:
  Expander(const TracedText& word, size_t most) : word_(word), text_(word.text), most_(most) {}

  // Nothing: more words than there may be, or more work.
  std::optional<std::vector<TracedText>> Expand(size_t begin, size_t end, int depth) {
    std::vector<TracedText> words(1);
    while (!Work::Spent()) {
      const std::optional<List> list = depth < kMaxDepth ? FindList(begin, end) : std::nullopt;
      if (!AddToEach(begin, list.has_value() ? list->open : end, &words)) return std::nullopt;
      if (!list.has_value()) return words;
      const std::optional<std::vector<TracedText>> items = Items(*list, depth);
      if (!items.has_value() || words.size() > most_ / items->size()) return std::nullopt;
      std::vector<TracedText> longer;
      size_t bytes = 0;
      for (const TracedText& word : words) {
        for (const TracedText& item : *items) {
          bytes += word.text.size() + item.text.size();
          Work::Spend(kShellWordCosts + word.text.size());
          if (bytes > kMaxExpandedBytes || Work::Spent()) return std::nullopt;
          longer.emplace_back(word).AddRange(item, 0, item.text.size());
        }
      }
      words = std::move(longer);
      begin = list->close + 1;
    }
    return std::nullopt;
  }

 private:
  // Adds what stands between two lists. False: the words together would be more than may be expanded.
  bool AddToEach(size_t begin, size_t end, std::vector<TracedText>* words) const {
    if (words->size() > 1 && words->size() > kMaxExpandedBytes / (end - begin + 1)) return false;
    for (TracedText& word : *words) word.AddRange(word_, begin, end);
    return true;
  }

  // The first in the range: what is in braces with a comma of its own, or a sequence.
  std::optional<List> FindList(size_t begin, size_t end) const {
    for (size_t at = begin; at < end && !Work::Spent(); at = EndOfShellPart(text_, at)) {
      if (text_[at] != '{') continue;
      List list{at, end, {}};
      int inside = 0;
      for (size_t i = at; i < end && list.close == end && !Work::Spent();) {
        if (text_[i] == '{') ++inside;
        if (text_[i] == ',' && inside == 1) list.commas.push_back(i);
        if (text_[i] == '}' && --inside == 0) list.close = i;
        const size_t next = EndOfShellPart(text_, i);
        Work::Spend(kPartCosts + (next - i));
        i = next;
      }
      if (list.close == end) continue;
      if (!list.commas.empty() || ReadSequence(Content(list)).has_value()) return list;
    }
    return std::nullopt;
  }

  absl::string_view Content(const List& list) const { return text_.substr(list.open + 1, list.close - list.open - 1); }

  std::optional<std::vector<TracedText>> Items(const List& list, int depth) {
    std::vector<TracedText> items;
    if (list.commas.empty()) {
      const Sequence sequence = *ReadSequence(Content(list));
      if (sequence.Count() > most_) return std::nullopt;
      const int offset = word_.offsets[list.open];
      for (uint64_t i = 0; i < sequence.Count(); ++i) {
        TracedText& item = items.emplace_back();
        for (const char c : sequence.Item(i)) item.Add(c, offset);
      }
      return items;
    }
    size_t begin = list.open + 1;
    for (size_t i = 0; i <= list.commas.size(); ++i) {
      const size_t end = i < list.commas.size() ? list.commas[i] : list.close;
      std::optional<std::vector<TracedText>> words = Expand(begin, end, depth + 1);
      if (!words.has_value() || items.size() + words->size() > most_) return std::nullopt;
      std::move(words->begin(), words->end(), std::back_inserter(items));
      begin = end + 1;
    }
    return items;
  }

  const TracedText& word_;
  const absl::string_view text_;
  const size_t most_;
};

}  // namespace

bool MayHoldBraceList(absl::string_view word) {
  for (size_t at = word.find('{'); at != absl::string_view::npos; at = word.find('{', at + 1)) {
    if (at == 0 || word[at - 1] != '$') return word.find('}', at) != absl::string_view::npos;
  }
  return false;
}

std::optional<std::vector<TracedText>> ExpandBraceLists(const TracedText& word, size_t most) {
  return Expander(word, most).Expand(0, word.text.size(), 0);
}

}  // namespace flightplan
