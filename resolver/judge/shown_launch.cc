#include "resolver/judge/shown_launch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/judge/recognise_stack.h"
#include "resolver/plan/reading.h"
#include "resolver/plan/stack.h"
#include "resolver/shell/reader.h"
#include "resolver/shell/slurm_job.h"
#include "resolver/stacks/input_format.h"
#include "resolver/stacks/megatron_lm/yaml.h"

namespace flightplan {
namespace {

constexpr char kNoLaunch[] = "no command in it runs a Python file";
constexpr char kNoStack[] = "no launch of a training stack that is known";
constexpr char kNoConfig[] = "a YAML file that shows no training stack that is known";
constexpr char kTooLarge[] = "larger than 1 MiB";
constexpr char kReadersLimit[] = "input.limit";
constexpr char kTooMuchWork[] = "too much work: it takes too many expansions, loops and patterns to read";

std::optional<Target> StackWithFormat(absl::string_view name) {
  for (const NamedFormat& format : InputFormats()) {
    if (format.format->name == name) return format.target;
  }
  return std::nullopt;
}

// A script in which no command is seen to run a Python file.
ShownLaunch::Nothing WithoutLaunch(const ShellLaunch& launch) {
  const auto limit = std::find_if(launch.findings.begin(), launch.findings.end(),
                                  [](const ParseFinding& finding) { return finding.finding.rule_id == kReadersLimit; });
  if (limit != launch.findings.end()) return {limit->finding.seen, /*unread=*/true};
  if (launch.unread_module.empty()) return {kNoLaunch};
  return {absl::StrCat("it runs ", Printable(launch.unread_module), ", a program whose words are not read")};
}

}  // namespace

ShownLaunch ReadShownLaunch(absl::string_view name, const std::string& text, const EnvVars& vars,
                            std::optional<Target> stated) {
  ShownLaunch shown;
  if (text.size() > kMaxScriptBytes) {
    shown.nothing = {kTooLarge, /*unread=*/true};
    return shown;
  }
  const absl::string_view form = RecogniseFile(name, text, stated.value_or(Target()));
  const bool shell = form == kShellFormat;
  if (absl::EndsWith(form, "-yaml")) {
    shown.stack = stated.has_value() ? stated : RecogniseYaml(text);
    if (!shown.stack.has_value()) {
      shown.nothing = {kNoConfig, /*unread=*/false, /*maybe=*/HasArgumentsOfMegatronLm(text)};
    } else if (std::string why = WhyNoTraining(*shown.stack, text); !why.empty()) {
      shown.nothing = {std::move(why)};
    }
    return shown;
  }
  if (form == kPythonFormat) {
    shown.stack = stated.has_value() ? stated : StackWithFormat(form);
    if (std::string why = WhyNoRecipe(text); !why.empty()) shown.nothing = {std::move(why)};
    return shown;
  }
  ShellLaunch launch;
  if (shell) {
    launch = ReadShellLaunch(text, vars);
    if (launch.too_much_work) {
      shown.nothing = {kTooMuchWork, /*unread=*/true};
      return shown;
    }
    shown.launched = launch.world_size;
    shown.size_assumed = launch.world_size_assumed;
    if (launch.script.empty()) {
      shown.nothing = WithoutLaunch(launch);
      return shown;
    }
  } else {
    launch.args = ArgumentsOfLines(text);
  }
  shown.stack = stated.has_value() ? stated : RecogniseStack(launch.script, launch.args, text);
  if (!shown.stack.has_value()) shown.nothing = {kNoStack, /*unread=*/false, /*maybe=*/!shell};
  if (shown.stack.has_value() && StackOf(*shown.stack).own_workers) shown.launched.reset();
  return shown;
}

ShownLaunch ReadShownLaunch(absl::string_view name, const std::string& text, EnvVars vars) {
  if (text.size() <= kMaxScriptBytes) AddSlurmVariables(ReadSbatchLines(text), &vars);
  return ReadShownLaunch(name, text, vars, std::nullopt);
}

}  // namespace flightplan
