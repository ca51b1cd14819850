#include "resolver/render/shell_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/base/work.h"

namespace flightplan {
namespace {

constexpr size_t kMaxTotalExpansion = size_t{1} << 22;  // of all references of a script together

size_t BytesOf(const ShellWords& words) {
  size_t bytes = 0;
  for (const ShellWord& word : words) bytes += word.value.text.size() + 1;
  return bytes;
}

bool SameText(const ShellWords& a, const ShellWords& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ShellWord& x, const ShellWord& y) { return x.value.text == y.value.text; });
}

}  // namespace

TracedText TracedText::FromScript(absl::string_view script) {
  TracedText traced;
  traced.text = std::string(script);
  traced.offsets.resize(script.size());
  for (size_t i = 0; i < script.size(); ++i) traced.offsets[i] = static_cast<int>(i);
  return traced;
}

TracedText TracedText::FromOutside(absl::string_view text) {
  TracedText traced;
  traced.text = std::string(text);
  traced.offsets.assign(text.size(), -1);
  return traced;
}

void TracedText::Add(char c, int offset) {
  text += c;
  offsets.push_back(offset);
}

void TracedText::Append(const TracedText& other) {
  unset = (text.empty() || unset) && other.unset;
  assumed = assumed || other.assumed;
  AddRange(other, 0, other.text.size());
}

void TracedText::AddRange(const TracedText& other, size_t begin, size_t end) {
  Work::Spend(end - begin + other.unknown_parts.size());
  for (const Part& part : other.unknown_parts) {
    const size_t first = std::max(part.begin, begin), last = std::min(part.end, end);
    if (first < last) unknown_parts.push_back({first - begin + text.size(), last - begin + text.size()});
  }
  text.append(other.text, begin, end - begin);
  const auto offset = other.offsets.begin();
  offsets.insert(offsets.end(), offset + static_cast<std::ptrdiff_t>(begin), offset + static_cast<std::ptrdiff_t>(end));
}

int TracedText::FirstOffset(int otherwise) const {
  const auto known = std::find_if(offsets.begin(), offsets.end(), [](int offset) { return offset >= 0; });
  return known == offsets.end() ? otherwise : *known;
}

// ---- what the script has said

ShellState::ShellState(const EnvVars& given, EnvVars* vars, std::vector<ParseFinding>* findings)
    : vars_(vars), findings_(findings) {
  for (const auto& [name, value] : given) variables_[name] = {{TracedText::FromOutside(value), -1}};
}

void ShellState::Note(int offset, absl::string_view rule_id, Severity severity, std::string seen, std::string needs) {
  if (findings_->size() >= kMaxParseFindings) return;
  ParseFinding& entry = findings_->emplace_back(
      MakeParseFinding({-1, offset, 0}, rule_id, severity, std::move(seen), std::move(needs), kScriptSource));
  entry.finding.verdict = Verdict::kAccepted;
}

void ShellState::NotJudged(int offset, std::string seen, std::string needs) {
  if (findings_->size() >= kMaxParseFindings || !noted_.insert(seen).second) return;
  Note(offset, "input.not-judged", Severity::kInfo, std::move(seen), std::move(needs));
}

const ShellWords* ShellState::Find(absl::string_view name) const {
  const auto it = variables_.find(name);
  return it == variables_.end() ? nullptr : &it->second;
}

ShellWords ShellState::Copy(const ShellWords& items) {
  Work::Spend(4 * BytesOf(items) + kShellWordCosts * items.size());  // every byte has its offset
  return items;
}

void ShellState::Set(const std::string& name, ShellWords items, int offset) {
  const auto it = variables_.find(name);
  if (doubtful_ && it != variables_.end() && !SameText(it->second, items)) {
    ShellWord doubt{TracedText::FromOutside(absl::StrCat("$", name)), offset};
    doubt.value.MarkUnknown();
    items = {std::move(doubt)};
  }
  variables_[name] = std::move(items);
  Changed(name, offset);
}

void ShellState::Unset(const std::string& name) {
  if (!doubtful_) variables_.erase(name);
}

void ShellState::AssumedUnset(int offset, absl::string_view reference) {
  assumption_ = true;
  NotJudged(offset, Printable(reference),
            "set neither in the script nor in the environment: a condition on it is judged as if it were empty");
}

void ShellState::Append(const std::string& name, ShellWords items, bool array, int offset) {
  ShellWords& variable = variables_[name];
  if (array || variable.empty()) {
    variable.insert(variable.end(), items.begin(), items.end());
  } else {
    variable[0].value.Append(items[0].value);
  }
  Changed(name, offset);
}

void ShellState::Export(const std::string& name) {
  exported_.insert(name);
  Publish(name);
}

void ShellState::Changed(const std::string& name, int offset) {
  ShellWords& items = variables_[name];
  Work::Spend(items.size());
  size_t bytes = 0;
  for (const ShellWord& item : items) bytes += item.value.text.size();
  if (bytes > kMaxExpandedBytes || items.size() > kMaxArguments) {
    items.clear();
    Note(offset, "input.limit", Severity::kError, absl::StrCat("variable ", Printable(name)),
         absl::StrCat("at most ", kMaxExpandedBytes, " bytes in one variable"));
  }
  Publish(name);
}

void ShellState::Publish(const std::string& name) {
  const ShellWords* items = exported_.count(name) == 0 ? nullptr : Find(name);
  if (items == nullptr || items->size() != 1 || items->front().value.unknown()) return;
  Work::Spend(items->front().value.text.size());
  (*vars_)[name] = items->front().value.text;
}

bool ShellState::CountExpansion(const ShellWords& values) {
  expanded_ += BytesOf(values);
  return expanded_ <= kMaxTotalExpansion;
}

void ShellState::NoteEndlessExpansion(int offset) {
  if (std::exchange(limit_noted_, true)) return;
  if (Work::Spent()) return;  // the reader says so
  Note(offset, "input.limit", Severity::kError, "variables that expand without end",
       absl::StrCat("at most ", kMaxExpandedBytes, " bytes in one word, ", kMaxTotalExpansion, " in all"));
}

}  // namespace flightplan
