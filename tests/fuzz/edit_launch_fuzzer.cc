// Knobs written into a launch: "name=value" lines, "----", the script. What is written must be read back: a knob whose
// assignment the editor took has its value in the edited script. The same file is edited as YAML and as arguments too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "resolver/shell/reader.h"
#include "resolver/stacks/edit_launch.h"
#include "resolver/stacks/input_format.h"
#include "resolver/stacks/megatron_lm/dialect.h"
#include "tests/fuzz/feedback.h"

namespace flightplan::fuzz {
namespace {

constexpr size_t kMaxAssignments = 8;

Value ReadValue(absl::string_view text) {
  int64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return Value(number);
  if (text == "true" || text == "false") return Value(text == "true");
  if (text.empty()) return Value();
  return Value(std::string(text));
}

Patch ReadPatch(absl::string_view text) {
  Patch patch;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const size_t sign = line.find('=');
    if (sign == absl::string_view::npos || patch.size() >= kMaxAssignments) continue;
    const auto knob = FindKnob(line.substr(0, sign));
    Assignment assignment;
    assignment.value = ReadValue(line.substr(sign + 1));
    if (knob.has_value()) {
      assignment.knob = *knob;
    } else if (line.substr(0, sign) == "CUDA_DEVICE_MAX_CONNECTIONS") {
      assignment.env_var = "CUDA_DEVICE_MAX_CONNECTIONS";
    } else {
      continue;
    }
    patch.push_back(std::move(assignment));
  }
  return patch;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t line = text.find("----\n");
  if (line == absl::string_view::npos) return -1;
  const Patch patch = ReadPatch(text.substr(0, line));
  const absl::string_view script = text.substr(line + 5);
  Environment env;
  const ShellLaunch launch = ReadShellLaunch(script, {});
  const ParseResult parsed = ParseMegatronLm(launch.args, env);
  const EditedText edited = EditArgumentFile(script, {launch.args, parsed.knobs}, patch, env, true);
  Met(edited.text == script ? "unchanged" : "changed");
  for (const Assignment& left : edited.unwritten) Met(Name(left.knob));
  const ShellLaunch again = ReadShellLaunch(edited.text, {});
  Met(ParseMegatronLm(again.args, env));

  for (Target target : {Target::kMegatronLm, Target::kMegatronBridge}) {
    env.target = target;
    for (const auto& [stack, format] : InputFormats()) {
      if (stack != target || format->file == nullptr) continue;
      const ParseResult yaml = format->file(script, env);
      format->file(EditYaml(script, yaml.knobs, patch, env).text, env);
    }
    const std::vector<Argument> args = ArgumentsOfLines(script);
    const ParseResult words = RecogniseArguments(args, "", target).arguments(args, env);
    EditArguments({args, words.knobs}, patch, env);
    EditArgumentFile(script, {args, words.knobs}, patch, env, false);
  }
  return 0;
}

}  // namespace flightplan::fuzz
