#include "resolver/plan/reading.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace flightplan {

bool ParseResult::ok() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const ParseFinding& f) { return f.finding.severity == Severity::kError; });
}

void ApplyKnobs(const std::vector<ParsedKnob>& knobs, Config* config) {
  for (const ParsedKnob& parsed : knobs) config->Set(parsed.knob, parsed.value, parsed.origin);
}

ParseFinding MakeParseFinding(SourcePosition at, absl::string_view rule_id, Severity severity, std::string seen,
                              std::string needs, absl::string_view source) {
  ParseFinding entry;
  entry.at = at;
  entry.finding.rule_id = rule_id;
  entry.finding.area = "cli";
  entry.finding.severity = severity;
  entry.finding.verdict = severity == Severity::kError ? Verdict::kAccepted : Verdict::kAdvice;
  entry.finding.stage = "parse";
  entry.finding.seen = std::move(seen);
  entry.finding.needs = std::move(needs);
  entry.finding.source = source;
  return entry;
}

void KeepFinding(ParseFinding finding, std::vector<ParseFinding>* findings) {
  if (findings->size() < kMaxParseFindings) return findings->push_back(std::move(finding));
  Finding& unlisted = finding.finding;
  if (findings->size() == kMaxParseFindings) {
    unlisted.rule_id = "input.limit";
    unlisted.seen = absl::StrCat("more than ", kMaxParseFindings, " findings");
    unlisted.needs = absl::StrCat("at most ", kMaxParseFindings, " are listed");
    return findings->push_back(std::move(finding));
  }
  Finding& last = findings->back().finding;
  if (unlisted.severity >= last.severity) return;  // from errors down
  last.severity = unlisted.severity;
  last.verdict = unlisted.verdict;
}

void KeepFindings(std::vector<ParseFinding> more, std::vector<ParseFinding>* findings) {
  for (ParseFinding& finding : more) KeepFinding(std::move(finding), findings);
}

bool IsCheckpointPath(Knob knob) {
  return knob == Knob::save || knob == Knob::load || knob == Knob::pretrained_checkpoint;
}

std::string Printable(absl::string_view text, size_t limit) {
  const bool cut = text.size() > limit;
  std::string out;
  // Quotes and backslashes stand as the text has them: a person looks for it there.
  for (const char& c : text.substr(0, limit)) {
    const bool quote = c == '"' || c == '\'' || c == '\\';
    absl::StrAppend(&out, quote ? std::string(1, c) : absl::CHexEscape(absl::string_view(&c, 1)));
  }
  return absl::StrCat(out, cut ? "..." : "");
}

}  // namespace flightplan
