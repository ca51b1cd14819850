#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/convert_page.h"
#include "clients/cli/file_question.h"
#include "clients/cli/findings.h"
#include "clients/cli/output.h"
#include "clients/cli/request.h"
#include "clients/cli/stack_files.h"
#include "clients/cli/versions_page.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/utf8.h"

namespace flightplan::cli {
namespace {

struct ConvertOptions {
  StackOptions stack;  // its target is --from
  std::string to;
  std::string input_format;
  std::string format = "shell";
  std::string stack_root;
  bool verbose = false;
  BackendOptions where;
};

CommandLine Describe(ConvertOptions* o) {
  CommandLine command{
      .name = "convert",
      .usage = "flightplan convert FILE | - | -- ARGS...  [--from NAME[@VERSION]] --to NAME[@VERSION] [flags]",
      .summary = "the same launch for another stack or release; says what has no counterpart",
      .example =
          "flightplan convert pretrain.sh --from megatron-lm@0.16 --to megatron-lm@main\n"
          "flightplan convert pretrain.sh --to megatron-bridge --gpu h100-sxm --gpus 64",
      .max_positional = 1,
      .takes_rest = true,
      .groups = StackFlags(&o->stack),
      .positional = {.files = true}};
  for (FlagGroup& group : command.groups) {
    for (Flag& flag : group.flags) {
      if (flag.name == "--target") flag.name = "--from";
    }
  }
  command.groups.push_back(
      {"convert",
       {{"--to", "NAME[@VERSION]",
         "megatron-lm, megatron-bridge, loongforge, slime, ms-swift, verl, nemo-rl, miles, vime, primus, flagscale, "
         "roll",
         ToText(&o->to, KnownWords(TargetNames()))},
        {"--input-format", "F", "default: by the source, the file's name and its first lines",
         ToText(&o->input_format, InputFormatValues())},
        {"--stack-root", "DIR",
         "a checkout: LoongForge's model files, and scripts that the launch sources, are read there",
         ToText(&o->stack_root, {.folders = true})},
        {"--format", "F", "shell (default), argv (one argument a line), json",
         ToChoice(&o->format, {"shell", "argv", "json"})},
        {"--verbose", "", "every knob", ToSwitch(&o->verbose)}}});
  command.groups.push_back(BackendFlags(&o->where));
  return command;
}

}  // namespace

int RunConvert(Arguments args, Context& context) {
  ConvertOptions options;
  options.stack.target.clear();  // the launch shows its stack
  const CommandLine command = Describe(&options);
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  if (options.to.empty()) return Misuse(command, "--to is required: the stack to write the launch for", context);
  if (parsed.rest.has_value() != parsed.positional.empty()) {
    return Misuse(command, "wants one launch: a FILE, or -- ARGS", context);
  }
  if (!options.stack.pins.empty()) return Misuse(command, "--set and --unset have no place in a conversion", context);

  v1::ConvertConfigRequest request;
  v1::ValidateConfigRequest& source = *request.mutable_source();
  v1::ValidateConfigRequest target;
  if (const absl::Status status = BuildValidateRequest(options.stack, ReaderOf(context), &source); !status.ok()) {
    return Misuse(command, status.message(), context);
  }
  StackOptions to;
  if (absl::StartsWith(options.to, "@")) options.to.insert(0, to.target);  // a release of the default
  to.target = options.to;
  if (const absl::Status status = BuildValidateRequest(to, ReaderOf(context), &target); !status.ok()) {
    return Misuse(command, status.message(), context);
  }
  *request.mutable_target() = target.target();
  source.set_input_format(options.input_format);
  if (parsed.rest.has_value()) {
    source.mutable_arguments();
    for (const std::string& argument : *parsed.rest) source.mutable_arguments()->add_values(argument);
  } else {
    absl::StatusOr<std::string> text = ReadInput(parsed.positional[0], context);
    if (!text.ok()) return Misuse(command, text.status().message(), context);
    source.mutable_file()->set_name(Utf8Repaired(parsed.positional[0]));
    source.mutable_file()->set_text(*std::move(text));
  }
  if (absl::StripAsciiWhitespace(source.file().text()).empty() && source.arguments().values().empty()) {
    return Misuse(command, "nothing to convert: the launch is empty", context);
  }
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(options.where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);
  const absl::StatusOr<std::string> why_not = CompleteQuestion(**backend, &source);
  if (!why_not.ok()) return Failed(command, why_not.status(), context);
  if (!why_not->empty()) {
    return Misuse(command, absl::StrCat(parsed.positional[0], ": nothing to convert: ", *why_not), context);
  }
  if (!options.stack_root.empty()) {
    v1::ValidateConfigResponse judged;
    const auto missing = ValidateWithFiles(options.stack_root, **backend, &source, &judged);
    if (!missing.ok()) return Failed(command, missing.status(), context);
    context.err += context.terminal.Shown(MissingFilesNote(options.stack_root, *missing));
  }
  v1::ConvertConfigResponse response;
  if (const absl::Status status = (*backend)->ConvertConfig(request, &response); !status.ok()) {
    return Failed(command, status, context);
  }
  Answered(response, context);
  if (options.format == "json") {
    context.out += ToJson(response);
  } else {
    // The launch alone goes to standard output, so that it can be kept in a file.
    const v1::Launch& launch = response.launch();
    context.out += options.format == "argv" ? absl::StrCat(absl::StrJoin(launch.argv(), "\n"), "\n") : launch.text();
    if (context.out.empty() || context.out.back() != '\n') context.out += '\n';
    context.err += RenderConvertReport(response, options.to, options.verbose, context.terminal);
  }
  return HasError(response.target_findings()) ? kExitFindings : kExitOk;
}

}  // namespace flightplan::cli
