#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/config_input.h"
#include "clients/cli/file_question.h"
#include "clients/cli/findings.h"
#include "clients/cli/fit_line.h"
#include "clients/cli/labelled_lines.h"
#include "clients/cli/output.h"
#include "clients/cli/request.h"
#include "clients/cli/stack_files.h"
#include "clients/cli/text.h"
#include "clients/cli/unified_diff.h"
#include "clients/cli/whole_file.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {
namespace {

struct FixOptions {
  StackOptions stack;
  std::string input_format;
  std::string stack_root;
  std::string format = "diff";
  bool write = false;
  bool convergence = false;
  bool room = false;
  BackendOptions where;
};

CommandLine Describe(FixOptions* o) {
  CommandLine command{
      .name = "fix",
      .usage = "flightplan fix FILE | -- ARGS...  [--write] [--target NAME] [--gpu NAME --gpus N] [flags]",
      .summary = "repair a launch that is refused or would fail; prints the change as a diff of your own text",
      .example = "flightplan fix pretrain.sh --gpu gb200-nvl72 --gpus 128\nflightplan fix pretrain.sh --write",
      .max_positional = 1,
      .takes_rest = true,
      .groups = LaunchFlags(&o->stack),
      .positional = {.files = true}};
  command.groups.push_back(
      {"repair",
       {{"--write", "", "change FILE in place", ToSwitch(&o->write)},
        {"--allow-convergence", "", "also fixes that change what is computed: batch, precision, routing ...",
         ToSwitch(&o->convergence)},
        {"--make-room", "", "also where memory is only tight, at the price of step time", ToSwitch(&o->room)},
        {"--input-format", "F", "argv: flags, of slime, its forks and ms-swift too; default: by target and file",
         ToText(&o->input_format, InputFormatValues())},
        {"--stack-root", "DIR",
         "a checkout: LoongForge's model files, and scripts that the launch sources, are read there",
         ToText(&o->stack_root, {.folders = true})},
        {"--format", "F", "diff (default), json", ToChoice(&o->format, {"diff", "json"})}}});
  command.groups.push_back(BackendFlags(&o->where));
  return command;
}

// Where nothing is to be repaired: the verdicts on the text as it is.
v1::Repair RepairOf(const v1::ValidateConfigRequest& request, const v1::ValidateConfigResponse& response) {
  if (response.has_repair()) return response.repair();
  v1::Repair unchanged;
  unchanged.set_accepted_by_stack(response.accepted_by_stack());
  unchanged.set_will_run(response.will_run());
  unchanged.set_text(request.file().text());
  *unchanged.mutable_arguments() = request.arguments().values();
  return unchanged;
}

std::string AsLines(const google::protobuf::RepeatedPtrField<std::string>& args) {
  return args.empty() ? "" : absl::StrCat(absl::StrJoin(args, "\n"), "\n");
}

// As `validate` says it of the same text.
std::string VerdictAfter(const v1::ValidateConfigResponse& response) {
  const v1::Repair& repair = response.repair();
  const absl::string_view runs = repair.will_run() ? ", will run" : ", will not run";
  if (!repair.accepted_by_stack()) return absl::StrCat("rejected by the stack", runs);
  if (response.completeness() != v1::COMPLETENESS_PARTIAL) return absl::StrCat("accepted by the stack", runs);
  return absl::StrCat("not judged in full: nothing that it shows is refused", repair.will_run() ? "" : runs);
}

// A repair that moves memory has its price in step time: both as they are now. Empty: no forecast.
std::string ForecastAfter(const v1::Repair& repair, const Terminal& terminal) {
  if (!repair.has_estimate()) return "";
  return absl::StrCat(absl::StrJoin(WrapParts(FitAndStep(repair.estimate(), terminal), kPartGap, terminal.width), "\n"),
                      "\n");
}

// What was done and what holds now, for people; goes to standard error so that standard output is a patch.
std::string Report(const v1::ValidateConfigResponse& response, const std::string& input, bool allow_convergence,
                   const Terminal& terminal) {
  const v1::Repair& repair = response.repair();
  const Spelling spelling = TargetSpelling(response.config(), response.target());
  std::string out;
  for (const v1::RepairStep& step : repair.steps()) {
    absl::StrAppend(&out, "  ", terminal.Shown(StepText(step, spelling)), "   [", step.rule_id(), "]",
                    step.searched() ? " (found by search)" : "",
                    step.fix().changes_convergence() ? " (convergence)" : "", "\n");
  }
  if (repair.has_unwritten()) {
    absl::StrAppend(&out, "  not written, set it yourself: ", terminal.Shown(FixText(repair.unwritten(), spelling)),
                    "\n");
  }
  const bool changed = repair.steps_size() > 0 || repair.has_unwritten();
  absl::StrAppend(&out, terminal.Shown(input), changed ? " after it: " : " is left as it is: ", VerdictAfter(response),
                  "\n", ForecastAfter(repair, terminal));
  if (repair.findings_size() > 0) out += FindingsText(repair.findings(), spelling, false, terminal);
  const bool held_back =
      std::any_of(repair.findings().begin(), repair.findings().end(), [](const v1::Finding& finding) {
        return std::any_of(finding.fixes().begin(), finding.fixes().end(),
                           [](const v1::Fix& fix) { return fix.changes_convergence(); });
      });
  if (held_back && !allow_convergence) {
    out += "some of these fixes change what is computed; --allow-convergence applies them\n";
  }
  return out;
}

// A launch that may run out of memory is no fault to repair: what makes room costs step time, so it is offered with
// what it costs, and done by who wants it. Empty: nothing is to be offered.
std::string RoomOffered(const v1::ValidateConfigResponse& response, bool asked, const Terminal& terminal) {
  Findings tight;
  for (const v1::Finding& finding : response.findings()) {
    if (finding.rule_id() == "fit.memory-marginal" && finding.fixes_size() > 0) *tight.Add() = finding;
  }
  if (tight.empty()) return "";
  return absl::StrCat(
      "memory is tight; to make room (",
      asked ? "which this text has no place for, or which would bring another fault" : "--make-room does it", "):\n",
      FindingsText(tight, TargetSpelling(response.config(), response.target()), false, terminal));
}

}  // namespace

int RunFix(Arguments args, Context& context) {
  FixOptions options;
  options.stack.target.clear();
  const CommandLine command = Describe(&options);
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  if (parsed.rest.has_value() != parsed.positional.empty()) {
    return Misuse(command, "wants one thing to repair: a FILE, or -- ARGS", context);
  }
  const std::string path = parsed.positional.empty() ? "" : parsed.positional[0];
  if (options.write && (path.empty() || path == "-")) return Misuse(command, "--write wants a FILE", context);

  v1::ValidateConfigRequest request;
  const absl::StatusOr<std::string> input = FillConfig(parsed, context, &options.stack, &request);
  if (!input.ok()) return Misuse(command, input.status().message(), context);
  request.set_input_format(options.input_format);
  request.set_repair(true);
  request.set_repair_convergence(options.convergence);
  request.set_repair_room(options.room);
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(options.where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);
  const absl::StatusOr<std::string> why_not = CompleteQuestion(**backend, &request);
  if (!why_not.ok()) return Failed(command, why_not.status(), context);
  if (!why_not->empty()) {
    absl::StrAppend(&context.err, context.terminal.Shown(path), ": nothing to repair: ", *why_not, "\n");
    const v1::ValidateConfigResponse nothing = NothingToJudge(*why_not);
    Answered(nothing, context);
    if (options.format == "json") context.out += ToJson(RepairOf(request, nothing));
    return kExitOk;
  }
  v1::ValidateConfigResponse response;
  const auto missing = ValidateWithFiles(options.stack_root, **backend, &request, &response);
  if (!missing.ok()) return Failed(command, missing.status(), context);
  context.err += context.terminal.Shown(MissingFilesNote(options.stack_root, *missing));
  Answered(response, context);
  if (const std::string fault = GpuFault(response); !fault.empty()) {
    absl::StrAppend(&context.err, context.terminal.Shown(absl::StrCat("not judged: memory: ", fault)), "\n");
  }
  const std::string name = path.empty() ? "arguments" : path;
  if (options.format == "json") {
    context.out += ToJson(RepairOf(request, response));
  } else if (!response.has_repair()) {
    absl::StrAppend(&context.err, context.terminal.Shown(name), ": nothing to repair\n",
                    RoomOffered(response, options.room, context.terminal));
  } else {
    const std::string before = path.empty() ? AsLines(request.arguments().values()) : request.file().text();
    const std::string after = path.empty() ? AsLines(response.repair().arguments()) : response.repair().text();
    const std::string diff = UnifiedDiff(name, before, name, after);
    // For `patch` every byte counts; what could drive a terminal is only made harmless where there is one.
    context.out += context.terminal.interactive ? context.terminal.ShownLines(diff) : diff;
    context.err += Report(response, absl::StrCat(name, StatedText(request)), options.convergence, context.terminal);
  }
  if (!response.has_repair()) return kExitOk;
  if (options.write && response.repair().text() != request.file().text()) {
    const absl::Status status = WriteWholeFile(path, response.repair().text());
    if (!status.ok()) return NotWritten(command, status, context);
  }
  return response.repair().will_run() ? kExitOk : kExitFindings;
}

}  // namespace flightplan::cli
