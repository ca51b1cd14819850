#include "resolver/shell/state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
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

ShellWords UnknownItems(const std::string& name, int offset) {
  ShellWord unknown{TracedText::FromOutside(absl::StrCat("$", name)), offset};
  unknown.value.MarkUnknown();
  return {std::move(unknown)};
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
  const auto parts_end = other.unknown_parts.end();
  auto part = std::partition_point(other.unknown_parts.begin(), parts_end,
                                   [begin](const Part& each) { return each.end <= begin; });
  const size_t before = unknown_parts.size();
  for (; part != parts_end && part->begin < end; ++part) {
    const size_t first = std::max(part->begin, begin), last = std::min(part->end, end);
    if (first < last) unknown_parts.push_back({first - begin + text.size(), last - begin + text.size()});
  }
  Work::Spend(end - begin + unknown_parts.size() - before + 1);
  text.append(other.text, begin, end - begin);
  const auto offset = other.offsets.begin();
  offsets.insert(offsets.end(), offset + static_cast<std::ptrdiff_t>(begin), offset + static_cast<std::ptrdiff_t>(end));
}

int TracedText::FirstOffset(int otherwise) const {
  const auto known = std::find_if(offsets.begin(), offsets.end(), [](int offset) { return offset >= 0; });
  return known == offsets.end() ? otherwise : *known;
}

// ---- what it exports

bool ShellExports::Set(const std::string& name, std::string value) {
  Work::Spend(kShellLookupCosts + value.size());
  if (vars_.size() >= kMaxShellExports && vars_.count(name) == 0) return false;
  const auto [entry, added] = vars_.try_emplace(name);
  if (added) Work::Spend(kShellVariableCosts);
  if (marked_) {
    Work::Spend(kShellVariableCosts);
    before_.try_emplace(name, added ? std::nullopt : std::make_optional(std::move(entry->second)));
  }
  entry->second = std::move(value);
  return true;
}

void ShellExports::Mark() {
  before_.clear();
  marked_ = true;
}

EnvVars ShellExports::TakeMarked() {
  for (auto& [name, value] : before_) {
    if (value.has_value()) {
      vars_[name] = *std::move(value);
    } else {
      vars_.erase(name);
    }
  }
  before_.clear();
  return std::move(vars_);
}

// ---- what the script has said

ShellState::ShellState(const EnvVars& given, ShellExports* exports, std::vector<ParseFinding>* findings)
    : exports_(exports), findings_(findings) {
  for (const auto& [name, value] : given) variables_[name] = {{TracedText::FromOutside(value), -1}};
}

void ShellState::Note(int offset, absl::string_view rule_id, Severity severity, std::string seen, std::string needs) {
  ParseFinding entry =
      MakeParseFinding({-1, offset, 0}, rule_id, severity, std::move(seen), std::move(needs), kScriptSource);
  entry.finding.verdict = Verdict::kAccepted;
  KeepFinding(std::move(entry), findings_);
}

void ShellState::NotJudged(int offset, absl::string_view text, std::string needs) {
  if (findings_->size() > kMaxParseFindings) return;
  // What is known again is not spelled out again: a script may say the same thing a hundred thousand times.
  const bool cut = text.size() > kPrintedBytes;
  if (!noted_.insert(absl::StrCat(text.substr(0, kPrintedBytes), cut ? "..." : "")).second) return;
  Note(offset, "input.not-judged", Severity::kInfo, Printable(text), std::move(needs));
}

const ShellWords* ShellState::Find(absl::string_view name) const {
  Work::Spend(kShellLookupCosts);
  const auto it = variables_.find(name);
  return it == variables_.end() ? nullptr : &it->second;
}

ShellWords ShellState::Copy(const ShellWords& items) {
  Work::Spend(4 * BytesOf(items) + kShellWordCosts * items.size());  // every byte has its offset
  return items;
}

std::pair<ShellWords*, bool> ShellState::Variable(const std::string& name) {
  const auto [variable, added] = variables_.try_emplace(name);
  Work::Spend(added ? kShellVariableCosts : kShellLookupCosts);
  return {&variable->second, added};
}

void ShellState::Set(const std::string& name, ShellWords items, int offset) {
  const auto [variable, added] = Variable(name);
  if (doubtful_ && !added && !SameText(*variable, items)) items = UnknownItems(name, offset);
  *variable = std::move(items);
  Changed(name, variable, offset);
}

void ShellState::SetNumber(const std::string& name, std::optional<int64_t> value, int offset) {
  if (!value.has_value()) return SetUnknown(name, offset);
  ShellWord number{{}, offset};
  for (const char c : absl::StrCat(*value)) number.value.Add(c, offset);
  Set(name, {std::move(number)}, offset);
}

void ShellState::SetUnknown(const std::string& name, int offset) { Set(name, UnknownItems(name, offset), offset); }

bool ShellState::IsUnknownAsAWhole(absl::string_view name, const ShellWords& items) {
  if (items.empty() || !items.front().value.unknown()) return false;
  absl::string_view text = items.front().value.text;
  if (absl::StartsWith(text, "${") && absl::EndsWith(text, "[@]}")) return true;  // all of another such array
  return absl::ConsumePrefix(&text, "$") && text == name;
}

void ShellState::Localize(const std::string& name) {
  if (scopes_.empty()) return;
  const ShellWords* value = Find(name);
  const auto [outer, added] = scopes_.back().try_emplace(name);
  if (added && value != nullptr) outer->second = Copy(*value);
}

void ShellState::LeaveScope() {
  for (auto& [name, value] : scopes_.back()) {
    if (value.has_value()) {
      ShellWords* const variable = Variable(name).first;
      *variable = *std::move(value);
      Publish(name, *variable);
    } else {
      variables_.erase(name);
    }
  }
  scopes_.pop_back();
}

ShellState::Variables ShellState::Keep() const {
  for (const auto& [name, items] : variables_) Work::Spend(4 * BytesOf(items) + kShellWordCosts * (items.size() + 1));
  return variables_;
}

void ShellState::Unset(const std::string& name) {
  if (!doubtful_) variables_.erase(name);
}

void ShellState::AssumedUnset(int offset, absl::string_view reference) {
  assumption_ = true;
  NotJudged(offset, reference,
            "set neither in the script nor in the environment: a condition on it is judged as if it were empty");
}

void ShellState::Append(const std::string& name, ShellWords items, bool array, int offset) {
  if (doubtful_ && !array) return SetUnknown(name, offset);
  ShellWords* const variable = Variable(name).first;
  if (array || variable->empty()) {
    variable->insert(variable->end(), items.begin(), items.end());
  } else {
    variable->front().value.Append(items[0].value);
  }
  Changed(name, variable, offset);
}

void ShellState::Export(const std::string& name) {
  const bool added = exported_.insert(name).second;
  Work::Spend(added ? kShellVariableCosts : kShellLookupCosts);
  if (const ShellWords* items = Find(name); items != nullptr) Publish(name, *items);
}

void ShellState::Changed(const std::string& name, ShellWords* items, int offset) {
  Work::Spend(items->size());
  size_t bytes = 0;
  for (const ShellWord& item : *items) bytes += item.value.text.size();
  if (bytes > kMaxExpandedBytes || items->size() > kMaxArguments) {
    items->clear();
    Note(offset, "input.limit", Severity::kError, absl::StrCat("variable ", Printable(name)),
         absl::StrCat("at most ", kMaxExpandedBytes, " bytes in one variable"));
  }
  Publish(name, *items);
}

void ShellState::Publish(const std::string& name, const ShellWords& items) {
  if (items.size() != 1 || items.front().value.unknown() || !exported_.contains(name)) return;
  if (!exports_->Set(name, items.front().value.text)) NoteTooManyExports();
}

void ShellState::NoteTooManyExports() {
  if (std::exchange(exports_noted_, true)) return;
  Note(-1, "input.limit", Severity::kError, "a script that exports too many variables",
       absl::StrCat("at most ", kMaxShellExports, " exported variables are read"));
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
