#include "resolver/judge/carried_words.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/catalog/spellings.h"
#include "resolver/plan/stack.h"
#include "resolver/read/argparse.h"
#include "resolver/stacks/dialects.h"
#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

bool IsFlag(const Argument& arg) { return absl::StartsWith(arg.text, "--") && arg.text.size() > 2; }

// One more word behind a rendered launch, in its arguments and in its text. What the shell has to work out ($DATA)
// stays for the shell.
void AppendWord(const Argument& word, Launch* launch) {
  launch->argv.push_back(word.text);
  std::string& text = launch->text;
  if (!text.empty() && text.back() == '\n') text.pop_back();
  absl::StrAppend(&text, IsFlag(word) ? " \\\n    " : " ",
                  word.unknown ? absl::StrCat("\"", word.text, "\"") : ShellQuote(word.text), "\n");
}

}  // namespace

std::vector<ConvertedKnob> CarryOtherFlags(const Reading& reading, const Environment& from, const Environment& to,
                                           Launch* launch) {
  std::vector<ConvertedKnob> dropped;
  if (StackOf(from).container) return dropped;  // its overrides are all knobs, or findings
  const FlagTable table(from.core_release);
  const FlagTable there(to.core_release);
  const bool same_stack = from.target == to.target;
  for (size_t i = 0; i < reading.args.size(); ++i) {
    if (!IsFlag(reading.args[i])) continue;
    const std::string flag = reading.args[i].text.substr(0, reading.args[i].text.find('='));
    size_t end = i + 1;
    bool unknown = reading.args[i].unknown;
    while (end < reading.args.size() && !IsFlag(reading.args[end])) unknown |= reading.args[end++].unknown;
    const FlagSpec* spec = table.Find(flag);
    if (spec != nullptr && spec->knob.has_value() && !unknown) continue;
    if (same_stack && (there.Find(flag) != nullptr || spec == nullptr)) {
      Answered(flag, launch);
      for (size_t word = i; word < end; ++word) AppendWord(reading.args[word], launch);
      continue;
    }
    std::string name = spec != nullptr && spec->knob.has_value() ? std::string(Name(*spec->knob)) : flag;
    dropped.push_back({std::move(name), std::nullopt, flag, "",
                       unknown
                           ? "its value cannot be read without running the script"
                           : absl::StrCat("a flag of ", TargetName(from), "'s own; write its counterpart yourself")});
  }
  return dropped;
}

}  // namespace flightplan
