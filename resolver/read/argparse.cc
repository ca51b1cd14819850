#include "resolver/read/argparse.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/nearest.h"
#include "resolver/base/utf8.h"
#include "resolver/catalog/choices.h"
#include "resolver/plan/knob_value.h"

namespace flightplan {
namespace {

constexpr int kMaxSuggestions = 16;  // each costs a pass over all flags

// Whether argparse takes a word for a negative number and not for a flag: -1, -0.5, but not -1e-5.
bool LooksNegative(absl::string_view word) {
  if (!absl::ConsumePrefix(&word, "-") || word.empty()) return false;
  const size_t dot = word.find('.');
  const absl::string_view whole = word.substr(0, dot);
  if (whole.find_first_not_of("0123456789") != absl::string_view::npos) return false;
  if (dot == absl::string_view::npos) return true;
  const absl::string_view fraction = word.substr(dot + 1);
  return !fraction.empty() && fraction.find_first_not_of("0123456789") == absl::string_view::npos;
}

// Plain ASCII without NUL: what nearly every word is.
bool IsPlain(absl::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHighBits = 0x8080808080808080;
  uint64_t found = 0;  // a high bit for a byte of 0x80 or more, or for a zero
  const auto look = [&](uint64_t bytes) { found |= (bytes - kOnes) | bytes; };
  if (text.size() < 8) {
    for (const char c : text) look(kOnes * static_cast<unsigned char>(c));
    return (found & kHighBits) == 0;
  }
  const auto look_at = [&](size_t begin) {
    uint64_t bytes;
    std::memcpy(&bytes, text.data() + begin, 8);
    look(bytes);
  };
  for (size_t begin = 0; begin + 8 < text.size(); begin += 8) look_at(begin);
  look_at(text.size() - 8);  // once more where the pieces overlap
  return (found & kHighBits) == 0;
}

class Parser {
 public:
  Parser(absl::Span<const Argument> args, const FlagTable& table, const ArgparseOptions& options)
      : args_(args), table_(table), options_(options) {}

  ParseResult Run() {
    if (args_.size() > kMaxArguments) {
      Report(args_[kMaxArguments], "input.limit", absl::StrCat(args_.size(), " arguments"),
             absl::StrCat("at most ", kMaxArguments, " arguments are read"));
      args_ = args_.subspan(0, kMaxArguments);
    }
    while (at_ < args_.size()) Next();
    return std::move(result_);
  }

 private:
  void Report(const Argument& where, absl::string_view rule_id, std::string seen, std::string needs) {
    KeepFinding(
        MakeParseFinding(where.at, rule_id, Severity::kError, std::move(seen), std::move(needs), options_.source),
        &result_.findings);
  }
  bool Full() const { return result_.findings.size() > kMaxParseFindings; }
  void Refuse(const Argument& where, std::string seen, std::string needs) {
    Report(where, options_.rule_id, std::move(seen), std::move(needs));
  }

  // The flag a word names, and the text behind '=' when there is one.
  const FlagSpec* FlagOf(absl::string_view word, std::optional<absl::string_view>* attached) const {
    if (const FlagSpec* spec = table_.Find(word)) return spec;
    const size_t equals = word.find('=');
    if (equals == absl::string_view::npos) return nullptr;
    *attached = word.substr(equals + 1);
    return table_.Find(word.substr(0, equals));
  }

  bool IsValue(const Argument& word) const { return word.unknown || IsValue(word.text); }

  // Whether argparse would take the word as the value of a flag before it.
  bool IsValue(absl::string_view word) const {
    if (word.empty() || word[0] != '-' || word == "-") return true;
    if (word == "--") return false;
    std::optional<absl::string_view> attached;
    if (FlagOf(word, &attached) != nullptr) return false;
    return LooksNegative(word) || absl::StrContains(word, " ");
  }

  void Next() {
    const Argument& word = args_[at_++];
    if (word.unknown) return SkipUnknown(word);
    if (!Readable(word)) return;
    if (word.text == "--") {  // there are no positional arguments, and it does not vanish before none
      RefusePositional(word);
      for (; at_ < args_.size(); ++at_) RefusePositional(args_[at_]);
      return;
    }
    std::optional<absl::string_view> attached;
    const FlagSpec* spec = FlagOf(word.text, &attached);
    if (spec != nullptr) return TakeFlag(word, *spec, attached);
    if (IsValue(word.text)) return RefusePositional(word);
    RefuseUnknown(word);
    for (; at_ < args_.size() && IsValue(args_[at_]); ++at_) NoteOpen(args_[at_]);  // they belong to the fault above
  }

  // Of --flag=$VALUE at least the flag is known.
  void SkipUnknown(const Argument& word) {
    std::optional<absl::string_view> attached;
    const FlagSpec* spec = FlagOf(word.text, &attached);
    if (spec != nullptr && attached.has_value()) return KeepUnknown(*spec, word, *attached);
    if (!absl::StartsWith(word.text, "--")) NoteOpen(word);
  }

  // The word stands where a flag may stand. A path below a folder that is not known is none.
  void NoteOpen(const Argument& word) {
    const bool path = absl::StrContains(word.text, '/') && !absl::StartsWith(word.text, "$(") && word.text[0] != '`';
    if (word.unknown && !path && result_.open_words.empty()) result_.open_words = word.text;
  }

  bool Readable(const Argument& word) {
    if (word.text.size() > kMaxArgumentBytes) {
      Report(word, "input.limit", absl::StrCat("an argument of ", word.text.size(), " bytes"),
             absl::StrCat("at most ", kMaxArgumentBytes, " bytes in one argument"));
      return false;
    }
    if (IsPlain(word.text) || (IsUtf8(word.text) && !absl::StrContains(word.text, '\0'))) return true;
    Report(word, "input.limit", absl::StrCat("argument ", Printable(word.text)), "arguments must be UTF-8 text");
    return false;
  }

  void RefusePositional(const Argument& word) {
    if (options_.leftover != nullptr) return options_.leftover->push_back(word);
    Refuse(word, absl::StrCat("argument ", Printable(word.text)), "it belongs to no flag");
  }

  void RefuseUnknown(const Argument& word) {
    const absl::string_view flag = absl::string_view(word.text).substr(0, word.text.find('='));
    if (flag == "-h" || flag == "--help") {
      return Refuse(word, std::string(flag), "the launch prints its help and stops; leave it out");
    }
    std::string needs = absl::StrCat(options_.parser_name, " has no such flag");
    const std::string more = options_.explain_unknown != nullptr ? options_.explain_unknown(flag) : "";
    if (!more.empty()) {
      absl::StrAppend(&needs, "; ", more);
    } else if (suggestions_++ < kMaxSuggestions) {
      const absl::string_view nearest = NearestName(flag, table_.names());
      if (!nearest.empty()) absl::StrAppend(&needs, "; the nearest is ", nearest);
    }
    Report(word, options_.unknown_rule_id.empty() ? options_.rule_id : options_.unknown_rule_id, Printable(flag),
           std::move(needs));
    if (Full()) return;
    result_.findings.back().finding.severity = options_.unknown_severity;
    const absl::string_view package = options_.package_of != nullptr ? options_.package_of(flag) : "";
    if (!package.empty()) {
      result_.findings.back().finding.observed.push_back({std::string(package), Value()});
    }
  }

  void TakeFlag(const Argument& word, const FlagSpec& spec, std::optional<absl::string_view> attached) {
    switch (spec.form) {
      case FlagForm::kSwitchOn:
        return TakeSwitch(word, spec, attached, true);
      case FlagForm::kSwitchOff:
        return TakeSwitch(word, spec, attached, false);
      case FlagForm::kSwitchPair:
        return TakeSwitch(word, spec, attached, !absl::StartsWith(spec.flag, "--no-"));
      case FlagForm::kValue:
        return TakeValues(word, spec, attached, 1, 1);
      case FlagForm::kListOfThree:
        return TakeValues(word, spec, attached, 3, 3);
      case FlagForm::kList:
        return TakeValues(word, spec, attached, 1, kMaxListItems);
      case FlagForm::kListOrEmpty:
        return TakeValues(word, spec, attached, 0, kMaxListItems);
    }
  }

  void TakeSwitch(const Argument& word, const FlagSpec& spec, std::optional<absl::string_view> attached, bool value) {
    if (attached.has_value()) {
      return Refuse(word, Printable(word.text), absl::StrCat(spec.flag, " takes no value"));
    }
    Keep(word, spec, Value(value));
  }

  void TakeValues(const Argument& word, const FlagSpec& spec, std::optional<absl::string_view> attached, size_t least,
                  size_t most) {
    absl::InlinedVector<std::pair<absl::string_view, const Argument*>, 4> texts;
    if (attached.has_value()) {
      texts.emplace_back(*attached, &word);
    } else {
      while (at_ < args_.size() && texts.size() < most && IsValue(args_[at_])) {
        const Argument& next = args_[at_++];
        if (!Readable(next)) return;
        if (texts.size() >= std::max<size_t>(least, 1) || absl::StrContains(next.text, "[@]")) NoteOpen(next);
        texts.emplace_back(next.text, &next);
      }
    }
    if (texts.size() < least) {
      return Refuse(word, std::string(spec.flag),
                    absl::StrCat("it needs ", least, least == 1 ? " value" : " values", ", ", texts.size(), " given"));
    }
    Value::List items;
    for (const auto& [text, where] : texts) {
      if (where->unknown) return KeepUnknown(spec, word, text);
      std::optional<Value> value = Convert(text, *where, spec);
      if (!value.has_value()) return;
      if (spec.form == FlagForm::kValue) return Keep(word, spec, *std::move(value));
      items.push_back(*std::move(value));
    }
    Keep(word, spec, Value(std::move(items)));
  }

  // Nothing where it was refused.
  std::optional<Value> Convert(absl::string_view text, const Argument& where, const FlagSpec& spec) {
    absl::StatusOr<Value> value = ReadFlagValue(text, spec.type);
    if (!value.ok()) {
      Refuse(where, absl::StrCat(spec.flag, " ", Printable(text)), std::string(value.status().message()));
      return std::nullopt;
    }
    if (!spec.choices.empty() && !IsChoice(value->is_text() ? text : value->ToText(), spec.choices)) {
      RefuseChoice(where, text, spec, absl::StrSplit(spec.choices, '|', absl::SkipEmpty()));
      return std::nullopt;
    }
    return *std::move(value);
  }

  void RefuseChoice(const Argument& where, absl::string_view text, const FlagSpec& spec,
                    const std::vector<absl::string_view>& choices) {
    std::string needs = choices.empty() ? "its list of choices is empty: leave the flag out" : "it must be one of ";
    for (size_t i = 0; i < choices.size(); ++i) absl::StrAppend(&needs, i == 0 ? "" : ", ", choices[i]);
    // Upstream's converter for graph modules fails with a KeyError of its own, before argparse can explain.
    const bool graph_module = (spec.flag == "--cuda-graph-scope" || spec.flag == "--cuda-graph-modules") &&
                              options_.leftover == nullptr;  // LoongForge's fork has a list of choices
    std::vector<absl::string_view> instead;
    if (spec.knob.has_value()) {
      instead = ChoicesInstead(*spec.knob, text, choices);
      if (instead.empty()) absl::StrAppend(&needs, kNoChoiceInstead);
    }
    Report(where, graph_module ? "mlm.cg-scope-name" : options_.rule_id, absl::StrCat(spec.flag, " ", Printable(text)),
           std::move(needs));
    if (!spec.knob.has_value() || Full()) return;
    Finding& finding = result_.findings.back().finding;
    finding.observed.push_back({std::string(Name(*spec.knob)), Value(Printable(text))});
    if (instead.empty()) return;
    const Value best(instead[0]);
    finding.fixes.push_back(
        {Assignment{*spec.knob, "", spec.form == FlagForm::kValue ? best : Value(Value::List{best})}});
  }

  void Keep(const Argument& word, const FlagSpec& spec, Value value) {
    if (!spec.knob.has_value()) return;
    Forget(*spec.knob);
    result_.knobs.push_back({*spec.knob, std::move(value), word.at});
  }
  void KeepUnknown(const FlagSpec& spec, const Argument& where, absl::string_view text) {
    if (!spec.knob.has_value()) return;
    Forget(*spec.knob);
    result_.unknown.push_back(*spec.knob);
    if (IsCheckpointPath(*spec.knob)) result_.paths.push_back({*spec.knob, Value(Printable(text)), where.at});
  }
  void Forget(Knob knob) {
    std::vector<Knob>& unknown = result_.unknown;
    unknown.erase(std::remove(unknown.begin(), unknown.end(), knob), unknown.end());
    std::vector<ParsedKnob>& paths = result_.paths;
    const auto same = [knob](const ParsedKnob& path) { return path.knob == knob; };
    paths.erase(std::remove_if(paths.begin(), paths.end(), same), paths.end());
  }

  absl::Span<const Argument> args_;
  const FlagTable& table_;
  const ArgparseOptions& options_;
  ParseResult result_;
  size_t at_ = 0;
  int suggestions_ = 0;
};

}  // namespace

FlagTable::FlagTable(int core_release) {
  const int release = NearestRelease(kCoreReleases, core_release);
  for (const internal::FlagRow& row : Flags()) {
    if (!row.releases.Contains(release)) continue;
    specs_[row.flag] = FlagSpec{row.flag, row.knob, row.form, row.type, row.choices};
    names_.push_back(row.flag);
  }
}

void FlagTable::Add(absl::Span<const FlagSpec> specs) {
  for (const FlagSpec& spec : specs) {
    if (specs_.insert_or_assign(spec.flag, spec).second) names_.push_back(spec.flag);
  }
}

const FlagSpec* FlagTable::Find(absl::string_view flag) const {
  auto it = specs_.find(flag);
  return it == specs_.end() ? nullptr : &it->second;
}

ParseResult ParseArguments(absl::Span<const Argument> args, const FlagTable& table, const ArgparseOptions& options) {
  return Parser(args, table, options).Run();
}

}  // namespace flightplan
