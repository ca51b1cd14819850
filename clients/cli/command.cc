#include "clients/cli/command.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/evidence.h"
#include "clients/cli/text.h"
#include "google/rpc/error_details.pb.h"
#include "resolver/base/nearest.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/violations.h"
#include "resolver/resolver.h"
#include "service/local/input_file.h"

namespace flightplan::cli {
namespace {

constexpr Command kCommands[] = {
    {"resolve", "a complete, checked launch for a given layout", RunResolve},
    {"plan", "the best layouts for a model on a number of GPUs", RunPlan},
    {"diff", "two configs side by side: knobs, memory, time, findings, and why", RunDiff},
    {"validate", "judge a finished config, command line or launch script", RunValidate},
    {"fix", "repair a launch, as a diff of your own text", RunFix},
    {"convert", "a launch for another stack or release", RunConvert},
    {"timeline", "what each pipeline rank does when in one step", RunTimeline},
    {"explain", "one rule or one knob: what, why, source, fix", RunExplain},
    {"rules", "every rule Flightplan knows", RunRules},
    {"knobs", "every knob: class, type, spelling for each stack", RunKnobs},
    {"models", "the models of the catalogue; import a config.json", RunModels},
    {"gpus", "the GPU systems of the catalogue", RunGpus},
    {"site", "rules, knobs, models and GPUs as a folder of pages", RunSite},
    {"fingerprint", "versions installed here, as resolve and validate take them", RunFingerprint},
    {"probe", "measure this node's GPU, as evidence for resolve", RunProbe},
    {"observe", "a run beside its forecast, and the next change to try", RunObserve},
    {"evidence", "reported runs: list, export, import, prune", RunEvidence},
    {"replay", "whether a decision log's answers would be the same today", RunReplay},
    {"serve", "the gRPC service", RunServe},
    {"mcp", "the same questions as tools of the Model Context Protocol", RunMcp},
    {"lsp", "findings, hover, completion and repairs in an editor", RunLsp},
    {"schema", "a JSON Schema of a YAML format, for editors", RunSchema},
    {"completion", "completion for bash, zsh or fish", RunCompletion},
    {"man", "the manual page", RunMan},
    {"version", "this build and the framework releases it covers", RunVersion},
    {"help", "help, or help of one command", RunHelp},
};

// Where a violation of a request field was written on our command line. Longest prefixes first.
struct FieldFlag {
  absl::string_view field;
  absl::string_view flag;
};
constexpr FieldFlag kFieldFlags[] = {
    {"model", "--model"},
    {"hardware.gpu_count", "--gpus"},
    {"hardware.gpu", "--gpu"},
    {"hardware.fabric.nvlink_domain_gpu_count", "--nvlink-domain"},
    {"hardware.fabric.gpus_per_node_count", "--gpus-per-node"},
    {"hardware.fabric.transport", "--transport"},
    {"hardware.host_cpu_class", "--host-cpu"},
    {"hardware.reserved_bytes", "--reserved-memory-gib"},
    {"hardware.host_memory_bytes", "--host-memory-gib"},
    {"workload.seq_length", "--seq"},
    {"workload.global_batch_size", "--gbs"},
    {"workload.precision", "--precision"},
    {"workload.objective", "--objective"},
    {"source.target", "--from"},
    {"target.framework", "--target"},
    {"target.version", "--target"},
    {"software.te_version", "--te"},
    {"software.torch_version", "--torch"},
    {"software.cuda_version", "--cuda"},
    {"software.nccl_version", "--nccl"},
    {"software.driver_version", "--driver"},
    {"software.dispatchers.transport", "--dispatcher-transport"},
    {"software.dispatchers", "--capability"},
    {"software.packages", "--package"},
    {"layout.tensor_model_parallel_size", "--tp"},
    {"layout.pipeline_model_parallel_size", "--pp"},
    {"layout.virtual_pipeline_model_parallel_size", "--vpp"},
    {"layout.context_parallel_size", "--cp"},
    {"layout.expert_model_parallel_size", "--ep"},
    {"layout.expert_tensor_parallel_size", "--etp"},
    {"layout.micro_batch_size", "--mbs"},
    {"pinned_knobs", "--set"},
    {"stated_knobs", "--set"},
    {"knobs", "--set"},
    {"env", "--env"},
    {"profile.step_time_us", "--profile-step-ms"},
    {"profile.exposed_communication_ratio", "--profile-exposed"},
    {"profile.exposed_all_to_all_ratio", "--profile-a2a"},
    {"profile.host_gap_ratio", "--profile-host"},
    {"profile.pipeline_bubble_ratio", "--profile-bubble"},
    {"profile.memory_high_water_bytes", "--profile-memory-gib"},
    {"dialects", "--format"},
    {"plan_count", "--top"},
    {"area", "--area"},
    {"hf_config_json", "--import"},
    {"probe_profile", "--profile"},
    {"device_index", "--device"},
    {"device_indices", "--devices"},
    {"all_devices", "--devices"},
    {"groups", "--groups"},
    {"budget", "--budget"},
    {"seq_length", "--seq"},
    {"memory_limit_bytes", "--memory-gib"},
    {"world_size", "--gpus"},
    {"input_format", "--input-format"},
    {"pipeline_ranks", "--rank"},
    {"detail_pipeline_rank", "--rank"},
    {"layer_index", "--layer"},
    {"max_event_count", "--max-events"},
};

// Where a request holds another one: "base.model.name" is the --model of `flightplan plan`.
constexpr absl::string_view kWrappers[] = {"base.", "source.", "resolve.", "validate."};

absl::string_view FlagOf(absl::string_view field) {
  for (const FieldFlag& row : kFieldFlags) {
    absl::string_view rest = field;
    if (absl::ConsumePrefix(&rest, row.field) && (rest.empty() || rest[0] == '.' || rest[0] == '[')) return row.flag;
  }
  for (const absl::string_view wrapper : kWrappers) {
    if (absl::StartsWith(field, wrapper)) return FlagOf(field.substr(wrapper.size()));
  }
  return field;
}

// As the command calls it: of a conversion's two stacks the target is --to.
absl::string_view FlagOf(const CommandLine& command, absl::string_view field) {
  const absl::string_view flag = FlagOf(field);
  return command.name == "convert" && flag == "--target" ? "--to" : flag;
}

int ExitOf(absl::StatusCode code) {
  if (code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kDeadlineExceeded) return kExitUnreachable;
  const bool ours = code == absl::StatusCode::kInternal || code == absl::StatusCode::kUnknown ||
                    code == absl::StatusCode::kDataLoss || code == absl::StatusCode::kUnimplemented;
  return ours ? kExitInternal : kExitMisuse;
}

}  // namespace

absl::Span<const Command> Commands() { return kCommands; }

const Command* FindCommand(absl::string_view name) {
  for (const Command& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

CommandLine TableOf(const Command& command) {
  // For a command that has none: one of the server's, in a build without it.
  CommandLine table{.name = command.name, .summary = command.summary};
  Context context;
  context.table = &table;
  command.run({}, context);
  // Their targets were the command's own variables.
  for (FlagGroup& group : table.groups) {
    for (Flag& flag : group.flags) flag.set.take = nullptr;
  }
  return table;
}

int RunCommandLine(Arguments args, Context& context) {
  if (args.empty() || args[0] == "--help" || args[0] == "-h") return RunHelp({}, context);
  if (args[0] == "--version") return RunVersion({}, context);
  const Command* command = FindCommand(args[0]);
  if (command != nullptr) return command->run(args.subspan(1), context);
  std::vector<absl::string_view> names;
  for (const Command& known : kCommands) names.push_back(known.name);
  const absl::string_view nearest = NearestName(args[0], names);
  absl::StrAppend(&context.err, "flightplan: no command ", Quoted(args[0]),
                  nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"),
                  "\nusage: flightplan COMMAND [flags]; flightplan help lists the commands\n");
  return kExitMisuse;
}

std::optional<int> ParseOrExit(const CommandLine& command, Arguments args, Context& context, ParsedArguments* parsed) {
  if (context.table != nullptr) {
    *context.table = command;
    return kExitOk;
  }
  absl::StatusOr<ParsedArguments> result = ParseArguments(command, args);
  if (!result.ok()) return Misuse(command, result.status().message(), context);
  *parsed = *std::move(result);
  if (!parsed->help) return std::nullopt;
  context.out += HelpText(command, context.terminal);
  return kExitOk;
}

int Misuse(const CommandLine& command, absl::string_view message, Context& context) {
  absl::StrAppend(&context.err, "flightplan ", command.name, ": ", context.terminal.Shown(message),
                  "\nusage: ", command.usage, "\n");
  return kExitMisuse;
}

int Failed(const CommandLine& command, const absl::Status& status, Context& context) {
  google::rpc::BadRequest bad;
  const auto payload = status.GetPayload(kBadRequestPayload);
  if (payload.has_value() && bad.ParseFromString(std::string(*payload)) && bad.field_violations_size() > 0) {
    for (const google::rpc::BadRequest::FieldViolation& violation : bad.field_violations()) {
      absl::StrAppend(
          &context.err, "flightplan ", command.name, ": ",
          context.terminal.Shown(absl::StrCat(FlagOf(command, violation.field()), ": ", violation.description())),
          "\n");
    }
    return kExitMisuse;
  }
  absl::StrAppend(&context.err, "flightplan ", command.name, ": ", context.terminal.Shown(status.message()), "\n");
  return ExitOf(status.code());
}

int NotWritten(const CommandLine& command, const absl::Status& status, Context& context) {
  (void)Failed(command, status, context);
  return kExitOutput;
}

FlagGroup BackendFlags(BackendOptions* options) {
  return {"answer",
          {{"--server", "ADDRESS", "HOST:PORT or unix:PATH of a running server; default: in process",
            ToText(&options->server)},
           {"--catalog-dir", "DIR", "a site's own models and GPUs (*.yaml)", ToText(&options->catalog_dir)}}};
}

absl::StatusOr<std::shared_ptr<Backend>> MakeBackend(const BackendOptions& options, const Context& context) {
  if (context.host != nullptr && context.host->backend != nullptr) return context.host->backend;
  if (options.server.empty()) return MakeLocalBackend(options.catalog_dir);
  if (!options.catalog_dir.empty()) {
    return absl::InvalidArgumentError("--catalog-dir has no effect with --server: the server has its own catalogue");
  }
  return MakeRemoteBackend(options.server);
}

absl::StatusOr<std::string> ReadInput(const std::string& path) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::string text, service::ReadWholeFile(path, kMaxFileBytes));
  if (const size_t end = Utf8PrefixBytes(text); end < text.size()) {
    const auto line = 1 + std::count(text.data(), text.data() + end, '\n');
    return absl::InvalidArgumentError(absl::StrCat(path, " is no UTF-8 text: line ", line, ", byte ", end));
  }
  if (const size_t nul = text.find('\0'); nul != std::string::npos) {
    const auto line = 1 + std::count(text.data(), text.data() + nul, '\n');
    return absl::InvalidArgumentError(absl::StrCat(path, " is no text: line ", line, " holds a NUL, byte ", nul));
  }
  return text;
}

absl::StatusOr<std::string> ReadInput(const std::string& path, const Context& context) {
  const FileReader read = ReaderOf(context);
  return read ? read(path) : ReadInput(path);
}

FileReader ReaderOf(const Context& context) { return context.host == nullptr ? nullptr : context.host->read; }

void Answered(const google::protobuf::Message& answer, const Context& context) {
  if (context.host != nullptr && context.host->answer) context.host->answer(answer);
}

}  // namespace flightplan::cli
