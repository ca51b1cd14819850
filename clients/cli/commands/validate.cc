#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/findings.h"
#include "clients/cli/output.h"
#include "clients/cli/request.h"
#include "clients/cli/validate_page.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {
namespace {

CommandLine Describe(StackOptions* stack, std::string* format, bool* verbose, bool* changes, BackendOptions* backend) {
  CommandLine command{
      .name = "validate",
      .usage =
          "flightplan validate FILE | - | -- ARGS... | --set KNOB=VALUE...  [--target NAME] [--gpu NAME --gpus N] "
          "[flags]",
      .summary = "judge a finished config; nothing is decided, every fault comes with a fix",
      .example =
          "flightplan validate pretrain.sh --gpu gb200-nvl72 --gpus 128\n"
          "flightplan validate --gpus 16 -- --num-experts 64 --expert-model-parallel-size 16 --num-layers 24 ...",
      .max_positional = 1,
      .takes_rest = true,
      .groups = StackFlags(stack)};
  command.groups.push_back({"print",
                            {{"--format", "F", "table (default), json", ToChoice(format, {"table", "json"})},
                             {"--show", "changes", "every value that the stack changes by itself",
                              [changes](absl::string_view text) {
                                if (text != "changes") return absl::InvalidArgumentError("wants changes");
                                *changes = true;
                                return absl::OkStatus();
                              }},
                             {"--verbose", "", "every note, change and source", ToSwitch(verbose)}}});
  command.groups.push_back(BackendFlags(backend));
  return command;
}

// What is judged into the request, and its name for people.
absl::StatusOr<std::string> FillConfig(const ParsedArguments& parsed, v1::ValidateConfigRequest* request) {
  const int given =
      (parsed.rest.has_value() ? 1 : 0) + static_cast<int>(parsed.positional.size()) + (request->has_knobs() ? 1 : 0);
  if (given != 1) {
    return absl::InvalidArgumentError(given == 0 ? "nothing to judge: a FILE, - for standard input, -- ARGS, or --set"
                                                 : "more than one config: give a FILE, or -- ARGS, or --set alone");
  }
  if (request->has_knobs()) return std::string("knobs");
  if (parsed.rest.has_value()) {
    for (const std::string& argument : *parsed.rest) request->mutable_arguments()->add_values(argument);
    request->mutable_arguments();
    return std::string("arguments");
  }
  absl::StatusOr<std::string> text = ReadInput(parsed.positional[0]);
  if (!text.ok()) return text.status();
  request->mutable_file()->set_name(parsed.positional[0]);
  request->mutable_file()->set_text(*std::move(text));
  return parsed.positional[0] == "-" ? "standard input" : parsed.positional[0];
}

}  // namespace

int RunValidate(Arguments args, Context& context) {
  StackOptions stack;
  std::string format = "table";
  bool verbose = false, changes = false;
  BackendOptions where;
  const CommandLine command = Describe(&stack, &format, &verbose, &changes, &where);
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;

  v1::ValidateConfigRequest request;
  if (const absl::Status status = BuildValidateRequest(stack, &request); !status.ok()) {
    return Misuse(command, status.message(), context);
  }
  const absl::StatusOr<std::string> input = FillConfig(parsed, &request);
  if (!input.ok()) return Misuse(command, input.status().message(), context);

  const absl::StatusOr<std::unique_ptr<Backend>> backend = MakeBackend(where);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);
  v1::ValidateConfigResponse response;
  if (const absl::Status status = (*backend)->ValidateConfig(request, &response); !status.ok()) {
    return Failed(command, status, context);
  }
  if (format == "json") {
    context.out += ToJson(response);
  } else if (changes) {
    context.out += ChangesText(response.effective_changes(), true, context.terminal);
  } else {
    context.out += RenderValidatePage(*input, response, verbose, context.terminal);
  }
  return HasError(response.findings()) ? kExitFindings : kExitOk;
}

}  // namespace flightplan::cli
