#include "resolver/judge/carried_words.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/catalog/spellings.h"
#include "resolver/judge/container_words.h"
#include "resolver/judge/flag_form.h"
#include "resolver/plan/stack.h"
#include "resolver/read/argparse.h"
#include "resolver/shell/raw.h"
#include "resolver/stacks/dialects.h"
#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

bool IsFlag(const Argument& arg) { return absl::StartsWith(arg.text, "--") && arg.text.size() > 2; }

// As many words as a run would know, flags among them: "${MODEL_ARGS[@]}".
bool HoldsWords(const Argument& arg) { return arg.unknown && absl::StrContains(arg.text, "[@]"); }

// Where the words of the flag at `i` end. An array is the value of a flag that takes some, if it stands right behind
// it.
size_t EndOfFlag(absl::Span<const Argument> args, size_t i, const FlagSpec* spec) {
  size_t end = i + 1;
  const bool takes = spec != nullptr && TakesValues(spec->form) && !absl::StrContains(args[i].text, '=');
  if (takes && end < args.size() && HoldsWords(args[end])) ++end;
  while (end < args.size() && !IsFlag(args[end]) && !HoldsWords(args[end])) ++end;
  return end;
}

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
  const bool same_flags =
      absl::c_any_of(launch->argv, [&](absl::string_view word) { return there.Find(word) != nullptr; });
  std::vector<std::string> arrays;  // behind the rest: what is asked for and given after all is taken out by its line
  for (size_t i = 0; i < reading.args.size();) {
    const size_t begin = i++;
    const Argument& first = reading.args[begin];
    if (HoldsWords(first)) {
      if (same_stack || (same_flags && StackOf(from).command_line)) {
        arrays.push_back(first.text);
      } else {
        dropped.push_back({first.text, std::nullopt, first.text, "",
                           "its words cannot be read without running the script; write their counterparts yourself"});
      }
    }
    if (!IsFlag(first)) continue;
    const std::string flag = first.text.substr(0, first.text.find('='));
    const FlagSpec* spec = table.Find(flag);
    const size_t end = i = EndOfFlag(reading.args, begin, spec);
    const bool unknown = absl::c_any_of(absl::MakeConstSpan(reading.args).subspan(begin, end - begin),
                                        [](const Argument& word) { return word.unknown; });
    if (spec != nullptr && spec->knob.has_value() && !unknown) continue;
    if (same_stack && (there.Find(flag) != nullptr || spec == nullptr)) {
      Answered(flag, launch);
      for (size_t word = begin; word < end; ++word) {
        AppendWord(reading.args[word].text, reading.args[word].unknown, launch);
      }
      continue;
    }
    if (unknown && end == begin + 2 && spec != nullptr && spec->knob.has_value()) {
      Argument value = reading.args[begin + 1];
      value.text = Asked(value.text);
      const ContainerWords there_too = WordsInContainer(*spec->knob, value, to);
      for (const std::string& word : there_too.words) AppendWord(word, /*for_shell=*/true, launch);
      if (!there_too.words.empty()) continue;
    }
    const auto values = absl::MakeConstSpan(reading.args).subspan(begin + 1, end - begin - 1);
    if (StackOf(to).command_line && CarryByOtherName(flag, values, there, launch)) continue;
    std::string name = spec != nullptr && spec->knob.has_value() ? std::string(Name(*spec->knob)) : flag;
    dropped.push_back({std::move(name), std::nullopt, flag, "",
                       unknown
                           ? "its value cannot be read without running the script"
                           : absl::StrCat("a flag of ", TargetName(from), "'s own; write its counterpart yourself")});
  }
  for (const std::string& words : arrays) AppendWord(words, /*for_shell=*/true, launch);
  return dropped;
}

}  // namespace flightplan
