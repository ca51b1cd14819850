#include "resolver/shell/state.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/work.h"
#include "resolver/shell/raw.h"

namespace flightplan {
namespace {

constexpr absl::string_view kBlanks = " \t\n";          // that IFS holds when a shell starts
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

// Whether `names` has the name from now on.
void Hold(const std::string& name, bool held, std::set<std::string, std::less<>>* names) {
  if (held) {
    names->insert(name);
  } else {
    names->erase(name);
  }
}

ShellWords UnknownItems(const std::string& name, int offset) {
  ShellWord unknown{TracedText::FromOutside(absl::StrCat("$", name)), offset};
  unknown.value.MarkUnknown();
  return {std::move(unknown)};
}

// Each shell has them from its start, with values that only a run knows.
const ShellWords* SetByEveryShell(absl::string_view name) {
  static const auto* const kVariables = [] {
    auto* const all = new absl::flat_hash_map<std::string, ShellWords>;
    for (const char* const each :
         {"BASHPID", "BASH_VERSION", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "HOSTNAME", "HOSTTYPE", "LINENO",
          "MACHTYPE", "OSTYPE", "PPID", "PWD", "RANDOM", "SECONDS", "SHLVL", "SRANDOM", "UID"}) {
      all->emplace(each, UnknownItems(each, -1));
    }
    return all;
  }();
  const auto it = kVariables->find(name);
  return it == kVariables->end() ? nullptr : &it->second;
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

// ---- what the script has said

ShellState::ShellState(const EnvVars& given, std::vector<ParseFinding>* findings) : given_(given), findings_(findings) {
  for (const auto& [name, value] : given) {
    variables_[name] = {{TracedText::FromOutside(value), -1}};
    if (IsVariableName(name)) exported_.insert(name);
  }
  variables_["IFS"] = {{TracedText::FromOutside(kBlanks), -1}};
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
  const auto it = variables_.find(name == "*" ? "@" : name);
  return it == variables_.end() ? SetByEveryShell(name) : &it->second;
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

void ShellState::Localize(const std::string& name) {
  if (scopes_.empty() || name.empty() || scopes_.back().count(name) != 0) return;
  scopes_.back().emplace(name, Save(name));
  integers_.erase(name);  // but it is exported where the outer one is
}

void ShellState::LeaveScope() {
  for (auto& [name, saved] : scopes_.back()) PutBack(name, std::move(saved));
  scopes_.pop_back();
}

ShellState::Saved ShellState::Save(const std::string& name) const {
  Saved saved;
  if (const ShellWords* value = Find(name); value != nullptr) saved.items = Copy(*value);
  saved.exported = exported_.contains(name);
  saved.unsure = unsure_.contains(name);
  saved.integer = integers_.contains(name);
  return saved;
}

void ShellState::PutBack(const std::string& name, Saved saved) {
  if (saved.exported || exported_.contains(name)) ++environment_version_;
  Hold(name, saved.exported, &exported_);
  Hold(name, saved.unsure, &unsure_);
  Hold(name, saved.integer, &integers_);
  if (saved.items.has_value()) {
    *Variable(name).first = *std::move(saved.items);
  } else {
    variables_.erase(name);
  }
}

ShellState::Kept ShellState::Keep() const {
  for (const auto& [name, items] : variables_) Work::Spend(4 * BytesOf(items) + kShellWordCosts * (items.size() + 1));
  Work::Spend(kShellWordCosts * (exported_.size() + unsure_.size() + integers_.size()));
  return {variables_, exported_, unsure_, integers_, export_all_, elsewhere_, environment_version_};
}

void ShellState::Restore(Kept kept) {
  variables_ = std::move(kept.variables);
  exported_ = std::move(kept.exported);
  unsure_ = std::move(kept.unsure);
  integers_ = std::move(kept.integers);
  export_all_ = kept.export_all;
  elsewhere_ = kept.elsewhere;
  if (kept.environment_version != environment_version_) ++environment_version_;
}

void ShellState::Unset(const std::string& name) {
  if (doubtful_) {
    if (Find(name) != nullptr) SetUnknown(name, -1);
    return;
  }
  if (exported_.erase(name) > 0) ++environment_version_;
  variables_.erase(name);
  unsure_.erase(name);
  integers_.erase(name);
}

// The items of an array stand one behind the other here: what is left of one without one of the others is not known.
void ShellState::UnsetItem(const std::string& name, absl::string_view subscript, int offset) {
  if (variables_.erase(absl::StrCat(name, "[", subscript, "]")) > 0) return;
  const ShellWords* const items = Find(name);
  if (items == nullptr || IsUnknownAsAWhole(name, *items)) return;
  if (KnownItems(name, *items) < items->size()) return SetUnknown(name, offset);
  int64_t index = 0;
  const bool number = absl::SimpleAtoi(subscript, &index);
  const auto size = static_cast<int64_t>(items->size());
  if (number && index >= size) return;
  if (!number || doubtful_ || (index != size - 1 && index != -1)) return SetUnknown(name, offset);
  if (size == 0) return;
  Variable(name).first->pop_back();
  if (exported_.contains(name)) ++environment_version_;
}

void ShellState::Forget(const std::string& name) {
  if (doubtful_) return;
  if (exported_.contains(name)) ++environment_version_;
  variables_.erase(name);
}

// ---- what processes get

void ShellState::Export(const std::string& name) {
  if (!IsVariableName(name)) return;
  const bool added = exported_.insert(name).second;
  Work::Spend(added ? kShellVariableCosts : kShellLookupCosts);
  if (added || unsure_.contains(name)) ++environment_version_;
  if (doubts_ == 0) {
    unsure_.erase(name);
  } else if (added) {
    exported_in_doubt_.push_back(name);
  }
}

void ShellState::EndDoubt(size_t begin) {
  --doubts_;
  if (begin < exported_in_doubt_.size()) ++environment_version_;
  unsure_.insert(exported_in_doubt_.begin() + static_cast<std::ptrdiff_t>(begin), exported_in_doubt_.end());
  exported_in_doubt_.resize(begin);
}

void ShellState::KeepBack(const std::string& name) {
  if (!exported_.contains(name)) return;
  ++environment_version_;
  if (doubtful_) {
    unsure_.insert(name);
  } else {
    exported_.erase(name);
  }
}

void ShellState::set_integer(const std::string& name, bool integer) { Hold(name, integer, &integers_); }

void ShellState::ExportUnknownNames() {
  if (!elsewhere_) ++environment_version_;
  elsewhere_ = true;
}

std::optional<TracedText> ShellState::Exported(const std::string& name) const {
  const ShellWords* const items = exported_.contains(name) ? Find(name) : nullptr;
  if (items == nullptr || items->size() != 1) return std::nullopt;
  return Copy(*items).front().value;
}

ShellEnvironment ShellState::Environment() {
  ShellEnvironment environment;
  environment.elsewhere = elsewhere_;
  for (const std::string& name : exported_) {
    if (Work::Spent()) break;
    const ShellWords* const items = Find(name);
    if (items == nullptr || items->empty()) continue;
    const TracedText& value = items->front().value;
    const bool unknown = value.unknown() || unsure_.contains(name);
    if (items->size() != 1 && !unknown) continue;  // an array is not exported
    const auto given = given_.find(name);
    if (!unknown && given != given_.end() && given->second == value.text) continue;
    if (environment.vars.size() + environment.unknown.size() >= kMaxShellExports) {
      NoteTooManyExports();
      break;
    }
    Work::Spend(kShellVariableCosts + value.text.size());
    if (unknown) {
      environment.unknown.insert(name);
    } else {
      environment.vars.emplace(name, value.text);
    }
  }
  for (const auto& [name, value] : given_) {
    if (!elsewhere_ && IsVariableName(name) && (!exported_.contains(name) || Find(name) == nullptr)) {
      environment.unset.insert(name);
    }
  }
  return environment;
}

void ShellState::ForgetUnexported() {
  absl::erase_if(variables_, [this](const auto& variable) {
    if (exported_.contains(variable.first)) return false;
    Work::Spend(kShellVariableCosts);
    left_outside_.insert(variable.first);
    return true;
  });
  for (auto name = exported_.begin(); name != exported_.end();) {
    name = variables_.contains(*name) ? std::next(name) : exported_.erase(name);
  }
  integers_.clear();
  export_all_ = false;
}

void ShellState::ClearEnvironment(bool elsewhere) {
  for (const std::string& name : exported_) variables_.erase(name);
  exported_.clear();
  unsure_.clear();
  elsewhere_ = elsewhere;
  ++environment_version_;
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

void ShellState::Changed(const std::string& name, ShellWords* items, int offset) {
  Work::Spend(items->size());
  size_t bytes = 0;
  for (const ShellWord& item : *items) bytes += item.value.text.size();
  if (bytes > kMaxExpandedBytes || items->size() > kMaxArguments) {
    items->clear();
    Note(offset, "input.limit", Severity::kError, absl::StrCat("variable ", Printable(name)),
         absl::StrCat("at most ", kMaxExpandedBytes, " bytes in one variable"));
  }
  if (export_all_) Export(name);
  if (exported_.contains(name)) ++environment_version_;
}

void ShellState::NoteTooManyExports() {
  if (std::exchange(exports_noted_, true)) return;
  Note(-1, "input.limit", Severity::kError, "a script that exports too many variables",
       absl::StrCat("at most ", kMaxShellExports, " exported variables are read"));
}

std::string ShellState::FieldSeparators() const {
  const ShellWords* const separators = Find("IFS");
  const bool known = separators != nullptr && !separators->empty() && !separators->front().value.unknown();
  if (!known || separators->front().value.text == kBlanks) return absl::StrCat(kBlanks, "\r");
  return separators->front().value.text;
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
