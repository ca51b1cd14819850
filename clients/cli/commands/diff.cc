#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/comparison.h"
#include "clients/cli/diff_page.h"
#include "clients/cli/file_question.h"
#include "clients/cli/findings.h"
#include "clients/cli/own_flags.h"
#include "clients/cli/report.h"
#include "clients/cli/request.h"
#include "clients/cli/text.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/protobuf/util/json_util.h"
#include "resolver/base/utf8.h"

namespace flightplan::cli {
namespace {

struct DiffOptions {
  ResolveOptions shared;
  std::string input_format;
  std::string format = "table";
  bool verbose = false;
  BackendOptions where;
};

CommandLine Describe(DiffOptions* o) {
  CommandLine command{
      .name = "diff",
      .usage = "flightplan diff FILE FILE [flags], or flightplan diff [shared flags] -- [flags of A] -- [flags of B]",
      .summary =
          "two configs side by side: knobs, memory by part, time by wall, findings, and why. A FILE is an answer or a "
          "request saved as JSON, or a launch",
      .example =
          "flightplan diff --model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 -- --ep 32 -- --ep 64\n"
          "flightplan diff old.sh new.sh --gpu gb200-nvl72 --gpus 128\n"
          "flightplan diff yesterday.json -- --model qwen3-30b-a3b --gpu h100-sxm --gpus 16 --tp 1 --pp 2 --ep 8",
      .max_positional = 2,
      .takes_rest = true,
      .groups = ResolveFlags(&o->shared),
      .positional = {.files = true},
      .rest_has_flags = true};
  command.groups.push_back(
      {"input",
       {{"--input-format", "F", "of a launch; default: by the target, the file's name and its first lines",
         ToText(&o->input_format, InputFormatValues())}}});
  command.groups.push_back(
      {"print",
       {{"--format", "F", "table (default), json, html: a page in one file",
         ToChoice(&o->format, {"table", "json", "html"})},
        {"--verbose", "", "also what the stack sets by itself, every note and reason", ToSwitch(&o->verbose)}}});
  command.groups.push_back(BackendFlags(&o->where));
  return command;
}

// An answer for a side, or why there is none; `misuse`: the command line is at fault.
struct Reading {
  absl::StatusOr<Side> side;
  bool misuse = false;
  v1::ResolveConfigRequest question = {};  // empty: a file has the answer alone
};
Reading Wrong(absl::string_view message) { return {absl::InvalidArgumentError(message), true}; }

Reading Resolved(const std::string& name, const v1::ResolveConfigRequest& request, Backend& backend) {
  v1::ResolveConfigResponse answer;
  if (absl::Status status = backend.ResolveConfig(request, &answer); !status.ok()) return {status};
  return {SideOf(name, std::move(answer)), false, request};
}

// A launch, judged as it stands.
Reading Judged(const std::string& path, std::string text, const DiffOptions& options, Backend& backend) {
  v1::ValidateConfigRequest request;
  if (!options.shared.stack.pins.empty()) {
    return Wrong("--set changes no launch file; write it into the file, or compare flags");
  }
  const absl::StatusOr<StackOptions> stack = WithOwnFlags(text, options.shared.stack);
  if (!stack.ok()) return Wrong(absl::StrCat(path, ": ", stack.status().message()));
  absl::Status status = BuildValidateRequest(*stack, options.shared.read, &request);
  status.Update(AddPins(stack->pins, request.mutable_stated_knobs()));
  if (!status.ok()) return {status, true};
  request.set_input_format(options.input_format);
  request.mutable_file()->set_name(Utf8Repaired(path));
  request.mutable_file()->set_text(std::move(text));
  // Of the stack that `validate` would say it is for.
  const absl::StatusOr<std::string> why_not = CompleteQuestion(backend, &request);
  if (!why_not.ok()) return {why_not.status()};
  if (!why_not->empty()) return Wrong(absl::StrCat(path, ": ", *why_not));
  v1::ValidateConfigResponse response;
  status = backend.ValidateConfig(request, &response);
  if (!status.ok()) return {status};
  return {SideOf(path, response)};
}

template <typename Message>
bool Parse(const std::string& json, Message* message) {
  return google::protobuf::util::JsonStringToMessage(json, message).ok();
}

// JSON is an answer or a question of ours, told apart by the fields that it has; all else is a launch.
Reading ReadFile(const std::string& path, const DiffOptions& options, const Context& context, Backend& backend) {
  absl::StatusOr<std::string> text = ReadInput(path, context);
  if (!text.ok()) return {text.status(), true};
  if (!absl::StartsWith(absl::StripLeadingAsciiWhitespace(*text), "{")) {
    return Judged(path, *std::move(text), options, backend);
  }
  const std::string name = path == "-" ? "standard input" : path;
  if (v1::ResolveConfigResponse answer; Parse(*text, &answer)) return {SideOf(name, std::move(answer))};
  if (v1::ValidateConfigResponse judged; Parse(*text, &judged)) return {SideOf(name, judged)};
  if (v1::PlanResult plans; Parse(*text, &plans)) {
    if (plans.plans_size() == 0) return Wrong(absl::StrCat(path, " is a search without a plan"));
    return {SideOf(absl::StrCat(name, " (first plan)"), plans.plans(0))};
  }
  if (v1::ResolveConfigRequest request; Parse(*text, &request)) return Resolved(name, request, backend);
  return Wrong(
      absl::StrCat(path, " is JSON, but neither an answer of resolve, validate or plan nor a ResolveConfigRequest"));
}

// One group of flags on top of the shared ones.
Reading ReadFlags(const std::vector<std::string>& flags, const DiffOptions& options, Backend& backend) {
  ResolveOptions own = options.shared;
  const CommandLine command{.name = "diff", .groups = ResolveFlags(&own)};
  if (const auto parsed = ParseArguments(command, flags); !parsed.ok()) return {parsed.status(), true};
  if (own.stack.target.empty()) own.stack.target = StackOptions().target;
  v1::ResolveConfigRequest request;
  if (absl::Status status = BuildResolveRequest(own, &request); !status.ok()) return {status, true};
  return Resolved(flags.empty() ? "the shared flags" : absl::StrJoin(flags, " "), request, backend);
}

// "-- a b -- c": {a b} and {c}.
std::vector<std::vector<std::string>> FlagSets(const ParsedArguments& parsed) {
  std::vector<std::vector<std::string>> sets;
  if (!parsed.rest.has_value()) return sets;
  sets.emplace_back();
  for (const std::string& argument : *parsed.rest) {
    if (argument == "--") {
      sets.emplace_back();
    } else {
      sets.back().push_back(argument);
    }
  }
  return sets;
}

std::string DiffReport(const std::vector<Side>& sides, std::vector<v1::ResolveConfigRequest> questions,
                       const Comparison& comparison, Arguments args) {
  Report report{.command = "diff",
                .line = LineOf("diff", args),
                .text = RenderDiffPage(sides[0], sides[1], comparison, true, Terminal())};
  for (size_t i = 0; i < sides.size(); ++i) {
    report.names.push_back(sides[i].name);
    // The page tells the sides apart by their questions; of a file there is only its name and place.
    if (questions[i].ByteSizeLong() == 0) {
      questions[i].mutable_model()->set_name(absl::StrCat(sides[i].name, i == 0 ? " (A)" : " (B)"));
    }
    report.calls.push_back(Recorded("ResolverService/ResolveConfig", questions[i], sides[i].answer));
  }
  return RenderReport(report);
}

}  // namespace

int RunDiff(Arguments args, Context& context) {
  DiffOptions options;
  options.shared.stack.target.clear();  // stated, or by each side's own words
  const CommandLine command = Describe(&options);
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  const std::vector<std::vector<std::string>> sets = FlagSets(parsed);
  const size_t given = parsed.positional.size() + sets.size();
  if (given != 2) {
    return Misuse(command, absl::StrCat("wants two sides, files or sets of flags after --, not ", given), context);
  }
  if (parsed.positional.size() == 2 && parsed.positional[0] == "-" && parsed.positional[1] == "-") {
    return Misuse(command, "standard input can be one side only", context);
  }
  options.shared.read = ReaderOf(context);
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(options.where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);
  std::vector<Side> sides;
  std::vector<v1::ResolveConfigRequest> questions;
  for (size_t i = 0; i < given; ++i) {
    const size_t files = parsed.positional.size();
    Reading reading = i < files ? ReadFile(parsed.positional[i], options, context, **backend)
                                : ReadFlags(sets[i - files], options, **backend);
    if (!reading.side.ok()) {
      const absl::Status& status = reading.side.status();
      const absl::Status sided(status.code(), absl::StrCat(i == 0 ? "A: " : "B: ", status.message()));
      return reading.misuse ? Misuse(command, sided.message(), context) : Failed(command, status, context);
    }
    sides.push_back(*std::move(reading.side));
    questions.push_back(std::move(reading.question));
    Answered(sides.back().answer, context);
  }
  const Comparison comparison = Compare(sides[0], sides[1]);
  context.out += options.format == "json" ? DiffJson(sides[0], sides[1], comparison)
                 : options.format == "html"
                     ? DiffReport(sides, questions, comparison, args)
                     : RenderDiffPage(sides[0], sides[1], comparison, options.verbose, context.terminal);
  // A fault of B is what a script asks about: A is what there was, and a change that mends it is no failure.
  return HasError(sides[1].answer.findings()) ? kExitFindings : kExitOk;
}

}  // namespace flightplan::cli
