#include "resolver/plan/pipeline_layout.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"

namespace flightplan {
namespace {

// Letters and stage separators together: twice the layers leaves room for both.
constexpr size_t kMaxExpanded = 2 * kMaxLayoutLayers;

constexpr size_t kMostStagesKept = 1024;

constexpr std::pair<char, absl::string_view> kLayers[] = {
    {'E', "embedding"}, {'t', "decoder"}, {'m', "mtp"}, {'L', "loss"}, {'e', "encoder"}};

bool IsDigit(absl::string_view text, size_t at) {
  return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
}

// Reads "*<digits>" at `*at` and moves past it. The count is cut off above what could still be accepted.
bool ReadRepeat(absl::string_view text, size_t* at, size_t* count) {
  size_t i = *at;
  if (i >= text.size() || text[i] != '*' || !IsDigit(text, i + 1)) return false;
  *count = 0;
  for (++i; IsDigit(text, i); ++i) {
    *count = std::min(kMaxExpanded + 1, *count * 10 + static_cast<size_t>(text[i] - '0'));
  }
  *at = i;
  return true;
}

// Appends `part` `count` times; false when the result would be too large.
bool AppendRepeated(absl::string_view part, size_t count, std::string* out) {
  if (part.size() * count + out->size() > kMaxExpanded) return false;
  if (part.size() == 1) {
    out->append(count, part[0]);
    return true;
  }
  for (size_t i = 0; i < count; ++i) out->append(part.data(), part.size());
  return true;
}

// Upstream's two substitutions, each one pass from left to right: "(...)*n", then "x*n". Nothing is rescanned, so
// nested parentheses are not understood, as there. Text without anything to substitute is appended in one piece.
bool ExpandGroups(absl::string_view text, std::string* out) {
  while (!text.empty()) {
    const size_t open = std::min(text.find('('), text.size());
    if (!AppendRepeated(text.substr(0, open), 1, out)) return false;
    text.remove_prefix(open);
    if (text.empty()) break;
    const size_t close = text.find(')', 1);
    size_t count = 0;
    size_t after = close == absl::string_view::npos ? close : close + 1;
    if (close != absl::string_view::npos && close > 1 && ReadRepeat(text, &after, &count)) {
      if (!AppendRepeated(text.substr(1, close - 1), count, out)) return false;
      text.remove_prefix(after);
      continue;
    }
    if (!AppendRepeated(text.substr(0, 1), 1, out)) return false;
    text.remove_prefix(1);
  }
  return true;
}

bool ExpandLetters(absl::string_view text, std::string* out) {
  while (!text.empty()) {
    // From the second letter on: a star at the start has nothing to repeat.
    size_t star = text.find('*', 1);
    if (star == absl::string_view::npos) return AppendRepeated(text, 1, out);
    if (!AppendRepeated(text.substr(0, star - 1), 1, out)) return false;
    size_t count = 1;
    size_t after = star;
    if (!ReadRepeat(text, &after, &count)) count = 1;
    if (!AppendRepeated(text.substr(star - 1, 1), count, out)) return false;
    text.remove_prefix(after);
  }
  return true;
}

PipelineLayout Failed(PipelineLayout::Fault fault, absl::string_view culprit = "") {
  PipelineLayout layout;
  layout.fault = fault;
  layout.culprit = std::string(culprit);
  return layout;
}

PipelineLayout FromText(absl::string_view text) {
  std::string plain(text);
  plain.erase(std::remove(plain.begin(), plain.end(), ','), plain.end());
  std::string groups;
  std::string letters;
  if (!ExpandGroups(plain, &groups) || !ExpandLetters(groups, &letters)) {
    return Failed(PipelineLayout::Fault::kTooLarge);
  }
  const size_t unknown = letters.find_first_not_of("EtmL|");
  if (unknown != std::string::npos) {
    // One byte of a longer character is no text by itself.
    return Failed(PipelineLayout::Fault::kUnknownCharacter, absl::CHexEscape(letters.substr(unknown, 1)));
  }
  PipelineLayout layout;
  layout.stages.reserve(static_cast<size_t>(std::count(letters.begin(), letters.end(), '|')) + 1);
  for (size_t begin = 0; begin <= letters.size();) {
    const size_t end = std::min(letters.find('|', begin), letters.size());
    layout.stages.emplace_back(letters, begin, end - begin);
    begin = end + 1;
  }
  return layout;
}

// The letter of a layer name in any case and with blanks around it; 0 when there is none.
char LetterOf(absl::string_view name) {
  const std::string wanted = absl::AsciiStrToLower(absl::StripAsciiWhitespace(name));
  for (const auto& [letter, layer] : kLayers) {
    if (wanted == layer) return letter;
  }
  return 0;
}

PipelineLayout FromList(const Value::List& list, int64_t pipeline_size) {
  size_t layers = 0;
  for (const Value& stage : list) {
    if (!stage.is_list()) return Failed(PipelineLayout::Fault::kNotListOfLists, stage.ToText());
    layers += stage.list().size();
  }
  if (layers + list.size() > kMaxExpanded) return Failed(PipelineLayout::Fault::kTooLarge);
  if (pipeline_size < 1 || static_cast<int64_t>(list.size()) % pipeline_size != 0) {
    return Failed(PipelineLayout::Fault::kStagesNotDivisible);
  }
  PipelineLayout layout;
  for (const Value& stage : list) {
    std::string& letters = layout.stages.emplace_back();
    for (const Value& element : stage.list()) {
      if (!element.is_text()) return Failed(PipelineLayout::Fault::kElementType, element.ToText());
      const char letter = LetterOf(element.text());
      if (letter == 0) return Failed(PipelineLayout::Fault::kElementUnknown, element.text());
      letters.push_back(letter);
    }
  }
  return layout;
}

bool Has(const std::string& stage, char letter) { return absl::StrContains(stage, letter); }

PipelineLayout Parse(const Value& value, int64_t pipeline_size) {
  PipelineLayout layout = value.is_text() ? FromText(value.text()) : FromList(value.list(), pipeline_size);
  layout.pipeline_size = pipeline_size;
  if (layout.fault != PipelineLayout::Fault::kNone) return layout;
  const int64_t stages = static_cast<int64_t>(layout.stages.size());
  if (pipeline_size < 1 || stages % pipeline_size != 0) {
    layout.fault = PipelineLayout::Fault::kStagesNotDivisible;
    return layout;
  }
  layout.virtual_size = stages / pipeline_size;
  return layout;
}

}  // namespace

// A question has one layout, and every run of the rules and every forecast asks for it: the last one read in a thread
// is kept, but for an absurd one, which would stay for as long as the thread.
PipelineLayout ParsePipelineLayout(const Value& value, int64_t pipeline_size) {
  struct Read {
    Value value;
    PipelineLayout layout;
  };
  thread_local std::optional<Read> last;
  if (last.has_value() && last->layout.pipeline_size == pipeline_size && last->value == value) return last->layout;
  PipelineLayout layout = Parse(value, pipeline_size);
  if (layout.stages.size() <= kMostStagesKept) last = Read{value, layout};
  return layout;
}

int64_t PipelineLayout::Count(char letter) const {
  int64_t count = 0;
  for (const std::string& stage : stages) {  // most hold two letters or three: not worth a loop over a known length
    for (const char* at = stage.c_str(); *at != '\0'; ++at) count += *at == letter ? 1 : 0;
  }
  return count;
}

char PipelineLayout::First() const {
  for (const std::string& stage : stages) {
    if (!stage.empty()) return stage.front();
  }
  return 0;
}

char PipelineLayout::Last() const {
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
    if (!stage->empty()) return stage->back();
  }
  return 0;
}

bool PipelineLayout::DecoderAfterMtp() const {
  bool mtp = false;
  for (const std::string& stage : stages) {
    for (char letter : stage) {
      mtp = mtp || letter == 'm';
      if (mtp && letter == 't') return true;
    }
  }
  return false;
}

bool PipelineLayout::MtpBeforeLastVirtualStage() const {
  const size_t end = stages.size() - static_cast<size_t>(virtual_size > 0 ? pipeline_size : 0);
  for (size_t i = 0; virtual_size > 0 && i < end; ++i) {
    if (Has(stages[i], 'm')) return true;
  }
  return false;
}

bool PipelineLayout::MtpOnFirstRankBeforeLastVirtualStage() const {
  for (int64_t v = 0; v + 1 < virtual_size; ++v) {
    if (Has(stages[static_cast<size_t>(v * pipeline_size)], 'm')) return true;
  }
  return false;
}

bool PipelineLayout::MtpSpread(int64_t mtp_layers) const {
  if (virtual_size == 0) return false;
  for (size_t i = stages.size() - static_cast<size_t>(pipeline_size); i < stages.size(); ++i) {
    const int64_t here = std::count(stages[i].begin(), stages[i].end(), 'm');
    if (here != 0 && here != mtp_layers) return true;
  }
  return false;
}

bool PipelineLayout::MtpStandalone() const {
  if (virtual_size == 0) return false;
  for (size_t i = stages.size() - static_cast<size_t>(pipeline_size); i + 1 < stages.size(); ++i) {
    if (Has(stages[i], 'm')) return true;
  }
  return false;
}

absl::string_view LayerName(char letter) {
  for (const auto& [known, name] : kLayers) {
    if (known == letter) return name;
  }
  return "";
}

}  // namespace flightplan
