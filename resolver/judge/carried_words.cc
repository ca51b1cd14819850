#include "resolver/judge/carried_words.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/catalog/spellings.h"
#include "resolver/judge/container_words.h"
#include "resolver/plan/stack.h"
#include "resolver/read/argparse.h"
#include "resolver/shell/raw.h"
#include "resolver/stacks/dialects.h"
#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

bool IsFlag(const Argument& arg) { return absl::StartsWith(arg.text, "--") && arg.text.size() > 2; }

// A variable of the converted script, alone: "${DATA:?...}" stops where nobody has set it.
std::string Asked(const std::string& text) {
  absl::string_view name = text;
  if (!absl::ConsumePrefix(&name, "$")) return text;
  if (absl::ConsumePrefix(&name, "{")) absl::ConsumeSuffix(&name, "}");
  return IsVariableName(name) ? absl::StrCat("${", name, ":?as in the script that was converted}") : text;
}

// Flags that are no knobs, and what the same is called elsewhere.
struct OtherName {
  absl::string_view flag, there;
};
constexpr OtherName kOtherNames[] = {
    {"--hf-tokenizer-path", "--tokenizer-model"},  // LoongForge's
    {"--wandb-group", "--wandb-exp-name"},         // slime's, which names the run by it
};

// Where the launch has no word of its own for it.
bool CarryByOtherName(absl::string_view flag, absl::Span<const Argument> values, const FlagTable& there,
                      Launch* launch) {
  for (const OtherName& row : kOtherNames) {
    if (row.flag != flag || values.size() != 1 || there.Find(row.there) == nullptr) continue;
    if (absl::c_linear_search(launch->argv, row.there)) continue;
    Answered(row.there, launch);
    AppendWord(std::string(row.there), /*for_shell=*/false, launch);
    AppendWord(values[0].unknown ? Asked(values[0].text) : values[0].text, values[0].unknown, launch);
    return true;
  }
  return false;
}

// Of a container the other overrides are knobs, or findings.
std::vector<ConvertedKnob> CarryPlainOverrides(const Reading& reading, const Environment& from, const Environment& to,
                                               Launch* launch) {
  std::vector<ConvertedKnob> dropped;
  for (const PlainOverride& plain : ReadPlainOverrides(reading.args, from)) {
    if (from.target == to.target) {
      AppendWord(plain.word.text, plain.word.unknown, launch);
    } else if (!plain.knob.has_value()) {
      dropped.push_back({plain.name, std::nullopt, plain.name, "",
                         plain.word.unknown
                             ? "its value cannot be read without running the script"
                             : absl::StrCat("a word of ", TargetName(from), "'s own; write its counterpart yourself")});
    }
  }
  return dropped;
}

}  // namespace

std::vector<ConvertedKnob> CarryOtherFlags(const Reading& reading, const Environment& from, const Environment& to,
                                           Launch* launch) {
  std::vector<ConvertedKnob> dropped;
  if (StackOf(from).container) return CarryPlainOverrides(reading, from, to, launch);
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
      for (size_t word = i; word < end; ++word) {
        AppendWord(reading.args[word].text, reading.args[word].unknown, launch);
      }
      continue;
    }
    if (unknown && end == i + 2 && spec != nullptr && spec->knob.has_value()) {
      Argument value = reading.args[i + 1];
      value.text = Asked(value.text);
      const ContainerWords there_too = WordsInContainer(*spec->knob, value, to);
      for (const std::string& word : there_too.words) AppendWord(word, /*for_shell=*/true, launch);
      if (!there_too.words.empty()) continue;
    }
    const auto values = absl::MakeConstSpan(reading.args).subspan(i + 1, end - i - 1);
    if (StackOf(to).command_line && CarryByOtherName(flag, values, there, launch)) continue;
    std::string name = spec != nullptr && spec->knob.has_value() ? std::string(Name(*spec->knob)) : flag;
    dropped.push_back({std::move(name), std::nullopt, flag, "",
                       unknown
                           ? "its value cannot be read without running the script"
                           : absl::StrCat("a flag of ", TargetName(from), "'s own; write its counterpart yourself")});
  }
  return dropped;
}

}  // namespace flightplan
