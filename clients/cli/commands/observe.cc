#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/file_question.h"
#include "clients/cli/name_lists.h"
#include "clients/cli/observe/next_knob.h"
#include "clients/cli/observe/observation.h"
#include "clients/cli/observe/observe_page.h"
#include "clients/cli/observe/read_run.h"
#include "clients/cli/observe/report.h"
#include "clients/cli/own_flags.h"
#include "clients/cli/progress_line.h"
#include "clients/cli/request.h"
#include "clients/cli/stack_files.h"
#include "clients/cli/text.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/protobuf/util/json_util.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/knobs_message.h"
#include "resolver/plan/knob.h"

namespace flightplan::cli {
namespace {

constexpr double kIdleSeconds = 1800;  // a checkpoint of a large model takes minutes
constexpr double kMostIdleSeconds = 1e6;

struct ObserveOptions {
  StackOptions stack;
  std::string launch, input_format, stack_root;
  bool follow = false;
  std::optional<double> idle_seconds;
  bool report = false;
  ReportOptions reporting;
  std::string format = "table";
  bool verbose = false;
  BackendOptions where;
};

CommandLine Describe(ObserveOptions* o) {
  CommandLine command{
      .name = "observe",
      .usage = "flightplan observe LOG|DIR|- [--launch SCRIPT] [--gpu NAME --gpus N] [--follow] [flags]",
      .summary = "a run beside its forecast: step, throughput, memory, where they differ, and the next change to try",
      .example =
          "flightplan observe run.log --launch pretrain.sh --gpu h100-sxm --gpus 64\n"
          "flightplan observe logs/ --launch pretrain.sh --gpu h100-sxm --format json\n"
          "flightplan observe run.log --launch pretrain.sh --gpu h100-sxm --follow",
      .max_positional = 1,
      .groups = LaunchFlags(&o->stack),
      .positional = {.files = true}};
  command.groups.push_back(
      {"input",
       {{"--launch", "FILE", "the launch of the run; without it, the arguments that the run printed",
         ToText(&o->launch, {.files = true})},
        {"--input-format", "F", "of the launch; default: by the target, the file's name and its first lines",
         ToText(&o->input_format, InputFormatValues())},
        {"--stack-root", "DIR",
         "a checkout: LoongForge's model files, and scripts that the launch sources, are read there",
         ToText(&o->stack_root, {.folders = true})},
        {"--follow", "", "read on while the file grows; ends with the run, or at Ctrl-C", ToSwitch(&o->follow)},
        {"--idle", "SECONDS", "of --follow: ends when nothing was added for so long (default 1800)",
         ToReal(&o->idle_seconds, 0, kMostIdleSeconds)}}});
  command.groups.push_back(
      {"report",
       {{"--report", "",
         "as measurements for the evidence store: to --server, else printed for `evidence import`, the page on "
         "standard error",
         ToSwitch(&o->report)},
        {"--model", "NAME", "of the report: the model's name in the catalogue",
         ToText(&o->reporting.model, {.list = kModelNames})},
        {"--cluster", "NAME", "of the report: where it ran, as you name it", ToText(&o->reporting.cluster)}}});
  command.groups.push_back({"print",
                            {{"--format", "F", "table (default), json", ToChoice(&o->format, {"table", "json"})},
                             {"--verbose", "", "memory by rank, too", ToSwitch(&o->verbose)}}});
  command.groups.push_back(BackendFlags(&o->where));
  return command;
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): what a signal handler may set
volatile std::sig_atomic_t interrupted = 0;

// Ctrl-C ends the reading, and what was read is shown; a second one ends the program.
class Interrupts {
 public:
  Interrupts() {
    interrupted = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    (void)sigaction(SIGINT, &action, &before_);
  }
  ~Interrupts() { (void)sigaction(SIGINT, &before_, nullptr); }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  struct sigaction before_ = {};
};

absl::StatusOr<RunRead> Read(const ObserveOptions& options, const std::string& path) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> paths, RunFiles(path));
  const Interrupts interrupts;
  ProgressLine line;
  int64_t shown = -1;
  const KeepReading keep = [&](const RunLogReader& reader) {
    if (line.shown() && reader.reports() != shown) {
      shown = reader.reports();
      line.Show(absl::StrCat("iteration ", reader.last_iteration(), ", ", shown, " reports"));
    }
    return interrupted == 0;
  };
  if (!options.follow) return ReadRun(paths, keep);
  if (paths.size() > 1) return absl::InvalidArgumentError("--follow wants one file");
  return FollowRun(paths[0], options.idle_seconds.value_or(kIdleSeconds), keep);
}

// The arguments that the run printed, as knobs; those that are none, or do not suit theirs, are left out.
bool FillFromArguments(const RunLog& log, v1::ValidateConfigRequest* request) {
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    const std::string name(Name(knob));
    auto printed = log.arguments.find(name);
    if (printed == log.arguments.end() && *Row(knob).dest != '\0') printed = log.arguments.find(Row(knob).dest);
    if (printed == log.arguments.end()) continue;
    const std::optional<Value> value = PrintedValue(knob, printed->second);
    if (!value.has_value() || value->is_none()) continue;
    v1::KnobSetting* const setting = request->mutable_knobs()->add_settings();
    setting->set_name(name);
    ValueToMessage(*value, setting->mutable_value());
  }
  return request->knobs().settings_size() > 0;
}

// GPUs, as the run printed it; 0: it did not.
int32_t WorldSize(const RunLog& log) {
  const auto printed = log.arguments.find("world_size");
  int32_t size = 0;
  return printed != log.arguments.end() && absl::SimpleAtoi(printed->second, &size) && size > 0 ? size : 0;
}

// What the run is compared with.
struct Compared {
  v1::ValidateConfigRequest request;
  v1::ValidateConfigResponse answer;
  std::string name;  // empty: nothing
};

// Fills `*compared`; an exit code where that ends the command.
std::optional<int> JudgeLaunch(const CommandLine& command, const ObserveOptions& options, const RunLog& log,
                               Backend& backend, Context& context, Compared* compared) {
  v1::ValidateConfigRequest& request = compared->request;
  StackOptions stack = options.stack;
  std::string text;
  if (!options.launch.empty()) {
    absl::StatusOr<std::string> read = ReadInput(options.launch);
    if (!read.ok()) return Misuse(command, read.status().message(), context);
    text = *std::move(read);
    const absl::StatusOr<StackOptions> own = WithOwnFlags(text, stack);
    if (!own.ok())
      return Misuse(command, absl::StrCat("--launch ", options.launch, ": ", own.status().message()), context);
    stack = *own;
  }
  if (const absl::Status status = BuildValidateRequest(stack, ReaderOf(context), &request); !status.ok()) {
    return Misuse(command, status.message(), context);
  }
  request.set_input_format(options.input_format);
  if (const int32_t ran_on = WorldSize(log); ran_on > 0 && !stack.gpus.has_value()) {
    if (request.has_hardware()) request.mutable_hardware()->set_gpu_count(ran_on);
    if (!request.has_hardware()) request.set_world_size(ran_on);
  }
  if (options.launch.empty()) {
    if (!FillFromArguments(log, &request)) return std::nullopt;
    FillFramework(&request);
    compared->name = "the arguments that it printed";
  } else {
    request.mutable_file()->set_name(Utf8Repaired(options.launch));
    request.mutable_file()->set_text(std::move(text));
    if (const absl::Status status = AddPins(stack.pins, request.mutable_stated_knobs()); !status.ok()) {
      return Misuse(command, status.message(), context);
    }
    const absl::StatusOr<std::string> why_not = CompleteQuestion(backend, &request);
    if (!why_not.ok()) return Failed(command, why_not.status(), context);
    if (!why_not->empty()) {
      return Misuse(command, absl::StrCat("--launch ", options.launch, ": ", *why_not), context);
    }
    compared->name = options.launch;
  }
  const auto missing = ValidateWithFiles(options.stack_root, backend, &request, &compared->answer);
  if (!missing.ok()) return Failed(command, missing.status(), context);
  context.err += context.terminal.Shown(MissingFilesNote(options.stack_root, *missing));
  const auto& findings = compared->answer.findings();
  const auto others = std::find_if(findings.begin(), findings.end(), [](const v1::Finding& finding) {
    return finding.rule_id() == "input.other-launches";
  });
  if (others != findings.end()) {
    absl::StrAppend(&context.err, options.launch, ": one launch is compared: ", context.terminal.Shown(others->seen()),
                    "\n");
  }
  return std::nullopt;
}

std::string ReportLine(const v1::Measurement& measurement) {
  google::protobuf::util::JsonPrintOptions print;
  print.preserve_proto_field_names = true;
  std::string line;
  (void)google::protobuf::util::MessageToJsonString(measurement, &line, print);
  return absl::StrCat(line, "\n");
}

// Whether a store can know what a report is of.
absl::Status CheckNames(const v1::Measurement& measurement, Backend& backend) {
  v1::GetModelRequest model;
  model.set_name(measurement.model());
  v1::ModelSpec spec;
  FLIGHTPLAN_RETURN_IF_ERROR(backend.GetModel(model, &spec));
  v1::GetGpuRequest gpu;
  gpu.set_name(measurement.gpu());
  v1::GpuSystem system;
  return backend.GetGpu(gpu, &system);
}

// Prints what is sent, then sends it.
int Report(const CommandLine& command, const ObserveOptions& options, const Observation& o, const Compared& compared,
           Backend& backend, Context& context) {
  const auto measurements = MeasurementsOf(o, compared.request, options.reporting);
  if (!measurements.ok()) return Misuse(command, measurements.status().message(), context);
  if (const absl::Status known = CheckNames(measurements->front(), backend); !known.ok()) {
    return Failed(command, known, context);
  }
  for (const v1::Measurement& m : *measurements) context.out += ReportLine(m);
  if (options.where.server.empty()) {
    context.err += "nothing was sent: the lines are for `flightplan evidence import`, or add --server\n";
    return kExitOk;
  }
  for (const v1::Measurement& m : *measurements) {
    if (const absl::Status status = backend.ReportMeasurement(m); !status.ok()) return Failed(command, status, context);
    absl::StrAppend(&context.err, "reported to ", context.terminal.Shown(options.where.server), ": ", m.id(), "\n");
  }
  return kExitOk;
}

int64_t GpuCount(const v1::ValidateConfigRequest& request) {
  return request.hardware().gpu_count() > 0 ? request.hardware().gpu_count() : request.world_size();
}

}  // namespace

int RunObserve(Arguments args, Context& context) {
  ObserveOptions options;
  options.stack.target.clear();
  const CommandLine command = Describe(&options);
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  if (parsed.positional.empty())
    return Misuse(command, "wants a LOG, a folder of logs, or - for standard input", context);
  if (options.idle_seconds.has_value() && !options.follow) {
    return Misuse(command, "--idle has no effect without --follow", context);
  }
  if (options.report && options.format == "json") return Misuse(command, "--report goes with --format table", context);
  const std::string& path = parsed.positional[0];
  if (path == "-" && options.launch == "-") return Misuse(command, "standard input is the log or the launch", context);
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(options.where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);

  absl::StatusOr<RunRead> read = Read(options, path);
  if (!read.ok()) return Misuse(command, read.status().message(), context);
  Compared compared;
  if (const auto exit = JudgeLaunch(command, options, read->log, **backend, context, &compared)) return *exit;
  const bool has_launch = !compared.name.empty();
  const Observation o = Observe(std::move(read->log), has_launch ? &compared.answer : nullptr,
                                GpuCount(compared.request), read->trace, read->snapshot);
  ObservePage page{.observation = o,
                   .input = path == "-" ? "standard input" : path,
                   .launch = compared.name,
                   .next = std::nullopt,
                   .why_no_next = "",
                   .faults = read->faults,
                   .verbose = options.verbose};
  if (read->files > 1) absl::StrAppend(&page.input, " (", read->files, " files)");
  if (has_launch && o.MatchesLaunch() && o.steps.used > 0) {
    std::string why;
    page.next = FindNextKnob(**backend, compared.request, o, &why);
    if (!page.next.has_value()) page.why_no_next = why;
  }
  // A report's lines are read on by `evidence import`: the page is beside them.
  (options.report ? context.err : context.out) +=
      options.format == "json" ? RenderObserveJson(page) : RenderObservePage(page, context.terminal);
  if (options.report) return Report(command, options, o, compared, **backend, context);
  return has_launch && !o.MatchesLaunch() ? kExitFindings : kExitOk;
}

}  // namespace flightplan::cli
