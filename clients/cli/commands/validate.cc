#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/findings.h"
#include "clients/cli/output.h"
#include "clients/cli/request.h"
#include "clients/cli/validate_page.h"
#include "clients/cli/versions_page.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {
namespace {

struct ValidateOptions {
  StackOptions stack;
  std::string input_format;
  std::string format = "table";
  bool all_versions = false;
  bool verbose = false;
  bool changes = false;
  BackendOptions where;
};

CommandLine Describe(ValidateOptions* o) {
  CommandLine command{
      .name = "validate",
      .usage =
          "flightplan validate FILE | - | -- ARGS... | --set KNOB=VALUE...  [--target NAME] [--gpu NAME --gpus N] "
          "[flags]",
      .summary = "judge a finished config; nothing is decided, every fault comes with a fix",
      .example =
          "flightplan validate pretrain.sh --gpu gb200-nvl72 --gpus 128\n"
          "flightplan validate --gpus 16 -- --num-experts 64 --expert-model-parallel-size 16 --num-layers 24 ...\n"
          "flightplan validate dump.yaml --target megatron-bridge --all-versions",
      .max_positional = 1,
      .takes_rest = true,
      .groups = StackFlags(&o->stack)};
  command.groups.push_back({"input",
                            {{"--input-format", "F", "default: by the target, the file's name and its first lines",
                              ToText(&o->input_format)},
                             {"--all-versions", "", "by every release of the framework, and what changes between them",
                              ToSwitch(&o->all_versions)}}});
  command.groups.push_back({"print",
                            {{"--format", "F", "table (default), json", ToChoice(&o->format, {"table", "json"})},
                             {"--show", "changes", "every value that the stack changes by itself",
                              [o](absl::string_view text) {
                                if (text != "changes") return absl::InvalidArgumentError("wants changes");
                                o->changes = true;
                                return absl::OkStatus();
                              }},
                             {"--verbose", "", "every note, change and source", ToSwitch(&o->verbose)}}});
  command.groups.push_back(BackendFlags(&o->where));
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

// One call for each release; ends as a plain validate by the release asked for ends.
int AllVersions(const CommandLine& command, const ValidateOptions& options, const std::string& input,
                v1::ValidateConfigRequest request, Backend& backend, Context& context) {
  const std::string framework = request.target().framework();
  const std::string asked = request.target().version().empty() ? "main" : request.target().version();
  const std::vector<std::string> releases = ReleasesOf(framework);
  if (releases.empty()) {
    return Misuse(command, absl::StrCat("--all-versions: one version of ", framework, " is known"), context);
  }
  std::vector<ReleaseAnswer> answers;
  bool error = false;
  for (const std::string& release : releases) {
    ReleaseAnswer& answer = answers.emplace_back();
    answer.release = release;
    request.mutable_target()->set_version(release);
    const absl::Status status = backend.ValidateConfig(request, &answer.response);
    if (!status.ok()) return Failed(command, status, context);
    if (release == asked) error = HasError(answer.response.findings());
  }
  context.out += options.format == "json"
                     ? VersionsJson(answers)
                     : RenderVersionsPage(input, framework, answers, options.verbose, context.terminal);
  return error ? kExitFindings : kExitOk;
}

}  // namespace

int RunValidate(Arguments args, Context& context) {
  ValidateOptions options;
  const CommandLine command = Describe(&options);
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;

  v1::ValidateConfigRequest request;
  if (const absl::Status status = BuildValidateRequest(options.stack, &request); !status.ok()) {
    return Misuse(command, status.message(), context);
  }
  request.set_input_format(options.input_format);
  const absl::StatusOr<std::string> input = FillConfig(parsed, &request);
  if (!input.ok()) return Misuse(command, input.status().message(), context);

  const absl::StatusOr<std::unique_ptr<Backend>> backend = MakeBackend(options.where);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);
  if (options.all_versions) return AllVersions(command, options, *input, std::move(request), **backend, context);
  v1::ValidateConfigResponse response;
  if (const absl::Status status = (*backend)->ValidateConfig(request, &response); !status.ok()) {
    return Failed(command, status, context);
  }
  if (options.format == "json") {
    context.out += ToJson(response);
  } else if (options.changes) {
    context.out += ChangesText(response.effective_changes(), true, context.terminal);
  } else {
    context.out += RenderValidatePage(*input, response, options.verbose, context.terminal);
  }
  return HasError(response.findings()) ? kExitFindings : kExitOk;
}

}  // namespace flightplan::cli
