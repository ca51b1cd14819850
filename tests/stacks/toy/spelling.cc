#include "resolver/stacks/spelling.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace flightplan {
namespace {

ParseResult ParseToy(absl::Span<const Argument> args, const Environment&) {
  ParseResult parsed;
  for (const Argument& arg : args) {
    const std::pair<absl::string_view, absl::string_view> words = absl::StrSplit(arg.text, absl::MaxSplits('=', 1));
    const std::optional<Knob> knob = FindKnob(words.first);
    const auto value = ValueFromJson(words.second);
    if (knob.has_value() && value.ok()) {
      parsed.knobs.push_back({*knob, *value, arg.at});
    } else {
      parsed.findings.push_back(MakeParseFinding(arg.at, "argparse.unrecognized", Severity::kError, Printable(arg.text),
                                                 "knob=value", "toy"));
    }
  }
  return parsed;
}

Launch RenderToy(const RenderInput& input) {
  Launch launch;
  launch.env = input.vars;
  LaunchWriter words("toy.py", &launch);
  input.config.ForEachNotDefault([&](Knob knob) {
    const Origin origin = input.config.origin(knob);
    if (origin == Origin::kAbsent || origin == Origin::kUpstream) return;
    words.Word(absl::StrCat(Name(knob), "=", input.config.Get(knob).ToJson()));
  });
  words.Finish();
  return launch;
}

constexpr InputFormat kFormats[] = {{.name = "toy-words", .arguments = ParseToy}};
constexpr OutputDialect kDialects[] = {{"toy", RenderToy}};

}  // namespace

extern const StackSpelling kToySpelling;
const StackSpelling kToySpelling = {.target = Target{17}, .formats = kFormats, .dialects = kDialects};

}  // namespace flightplan
