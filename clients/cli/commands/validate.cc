#include <unistd.h>

#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/batch.h"
#include "clients/cli/batch_pages.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/config_input.h"
#include "clients/cli/file_question.h"
#include "clients/cli/findings.h"
#include "clients/cli/output.h"
#include "clients/cli/report.h"
#include "clients/cli/request.h"
#include "clients/cli/slurm_script.h"
#include "clients/cli/stack_files.h"
#include "clients/cli/text.h"
#include "clients/cli/unified_diff.h"
#include "clients/cli/validate_page.h"
#include "clients/cli/versions_page.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "service/doors/review.h"
#include "service/version.h"

namespace flightplan::cli {
namespace {

struct ValidateOptions {
  StackOptions stack;
  std::string input_format;
  std::string stack_root;
  std::string format = "table";
  bool all_versions = false;
  bool verbose = false;
  bool changes = false;
  bool batch = false;
  std::vector<std::string> releases;
  SlurmScriptOptions slurm;
  BackendOptions where;
};

constexpr size_t kMaxBatchNames = 100'000;  // a shell's own limit is below it

CommandLine Describe(ValidateOptions* o) {
  CommandLine command{
      .name = "validate",
      .usage =
          "flightplan validate FILE | - | -- ARGS... | --batch PATH...  [--set KNOB=VALUE...] [--target NAME] "
          "[--gpu NAME --gpus N] [flags]",
      .summary = "judge a finished config; nothing is decided, every fault comes with a fix",
      .example =
          "flightplan validate pretrain.sh --gpu gb200-nvl72 --gpus 128\n"
          "flightplan validate --gpus 16 -- --num-experts 64 --expert-model-parallel-size 16 --num-layers 24 ...\n"
          "flightplan validate pretrain.sh --gpu h100-sxm --gpus 64 --set vocab_size=128256\n"
          "flightplan validate dump.yaml --target megatron-bridge --all-versions\n"
          "flightplan validate --batch queue/ --release megatron-lm@0.17 --format sarif",
      .max_positional = kMaxBatchNames,
      .takes_rest = true,
      .groups = LaunchFlags(&o->stack),
      .positional = {.files = true}};
  command.groups.push_back(
      {"input",
       {{"--input-format", "F", "argv: flags, of slime, its forks and ms-swift too; default: by target and file",
         ToText(&o->input_format, InputFormatValues())},
        {"--stack-root", "DIR",
         "a checkout: LoongForge's model files, and scripts that the launch sources, are read there",
         ToText(&o->stack_root, {.folders = true})},
        {"--all-versions", "",
         "by every release of the framework whose command line was read, and what changes between them",
         ToSwitch(&o->all_versions)},
        {"--batch", "",
         "many: folders, scripts, @LIST of paths; the stack is told from each launch; a named file that cannot be "
         "read: 2",
         ToSwitch(&o->batch)},
        {"--release", "NAME@VERSION,...", "of a batch or job: the release of each stack; default: main",
         ToCommaList(&o->releases, KnownWords(TargetNames()))}}});
  command.groups.push_back({"Slurm",
                            {{"--slurm-script", "FILE|-", "one job as the Slurm door asks: a verdict and a short block",
                              ToText(&o->slurm.path)},
                             {"--job", "FIELD=VALUE", "its size: min_nodes, tres_per_node ... over the #SBATCH lines",
                              ToList(&o->slurm.fields)},
                             {"--door-mode", "shadow|warn|enforce", "for the server's count of reviews",
                              ToChoice(&o->slurm.mode, {"shadow", "warn", "enforce"})}}});
  command.groups.push_back(
      {"print",
       {{"--format", "F", "table (default), json, html: a page in one file; of a batch: table, jsonl, sarif",
         ToChoice(&o->format, {"table", "json", "html", "jsonl", "sarif"})},
        {"--show",
         "changes",
         "every value that the stack changes by itself",
         {[o](absl::string_view text) {
            if (text != "changes") return absl::InvalidArgumentError("wants changes");
            o->changes = true;
            return absl::OkStatus();
          },
          {.words = {"changes"}}}},
        {"--verbose", "", "every note, change and source", ToSwitch(&o->verbose)}}});
  command.groups.push_back(BackendFlags(&o->where));
  return command;
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

// A line that is written over, for a person who waits; nothing where nobody looks.
class BatchProgress {
 public:
  explicit BatchProgress(size_t count) : count_(count) {}
  void Show(size_t done) {
    if (!shown_ || done % 64 != 0) return;
    std::fprintf(stderr, "\r\033[K%zu of %zu judged", done, count_);
    std::fflush(stderr);
    written_ = true;
  }
  ~BatchProgress() {
    if (written_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  const size_t count_;
  const bool shown_ = isatty(STDERR_FILENO) == 1;
  bool written_ = false;
};

std::string RuleText(Backend& backend, const std::string& rule_id) {
  v1::GetRuleRequest request;
  v1::RuleInfo rule;
  request.set_id(rule_id);
  return backend.GetRule(request, &rule).ok() ? rule.text() : "";
}

std::string ValidateReport(const std::string& input, const v1::ValidateConfigRequest& request,
                           const v1::ValidateConfigResponse& response, Arguments args) {
  const std::string& repaired = response.repair().text();
  return RenderReport({.command = "validate",
                       .line = LineOf("validate", args),
                       .text = RenderValidatePage(input, response, true, Terminal()),
                       .names = {input},
                       .diff = repaired.empty() ? "" : UnifiedDiff(input, request.file().text(), input, repaired),
                       .calls = {Recorded("ResolverService/ValidateConfig", request, response)}});
}

// A line for each file that could not be read. Returned: whether the caller names one of them, who would be refused
// with it alone; what a folder holds may be anything.
bool TellUnread(const std::vector<BatchItem>& items, const BatchFiles& files, Context& context) {
  bool named = false;
  for (const BatchItem& item : items) {
    if (item.fault.empty()) continue;
    named = named || files.named.contains(item.path);
    const std::string what = absl::StrContains(item.fault, item.path) ? "" : absl::StrCat(item.path, ": ");
    absl::StrAppend(&context.err, "not judged: ", context.terminal.Shown(absl::StrCat(what, item.fault)), "\n");
  }
  return named;
}

int Batch(const CommandLine& command, const ValidateOptions& options, const ParsedArguments& parsed,
          const v1::ValidateConfigRequest& base, Backend& backend, Context& context) {
  if (parsed.rest.has_value() || !options.stack.pins.empty() || options.all_versions || options.changes) {
    return Misuse(command, "--batch judges files: it takes no -- ARGS, --set, --all-versions or --show", context);
  }
  if (options.format == "json" || options.format == "html")
    return Misuse(command, "--format of a batch is table, jsonl or sarif", context);
  if (parsed.positional.empty()) return Misuse(command, "--batch wants folders, scripts or @LIST", context);
  const absl::StatusOr<BatchFiles> files = BatchPaths(parsed.positional);
  if (!files.ok()) return Misuse(command, files.status().message(), context);
  const absl::StatusOr<std::string> unjudged = AskWithoutFile(base, backend);
  if (!unjudged.ok()) return Failed(command, unjudged.status(), context);
  context.err += context.terminal.Shown(*unjudged);
  std::vector<BatchItem> items;
  {
    BatchProgress progress(files->paths.size());
    const absl::Status status = ReviewBatch(
        base, options.stack, options.releases, files->paths, backend, [&progress](size_t done) { progress.Show(done); },
        &items);
    if (!status.ok()) return Failed(command, status, context);
  }
  context.out += options.format == "jsonl" ? RenderBatchJsonLines(items)
                 : options.format == "sarif"
                     ? RenderBatchSarif(items, service::kVersion,
                                        [&backend](const std::string& rule_id) { return RuleText(backend, rule_id); })
                     : RenderBatchTable(items, options.verbose, context.terminal);
  const bool unread = TellUnread(items, *files, context);
  return TotalsOf(items).refused > 0 ? kExitFindings : unread ? kExitMisuse : kExitOk;
}

int SlurmScript(const CommandLine& command, const ValidateOptions& options, const ParsedArguments& parsed,
                const v1::ValidateConfigRequest& base, Backend& backend, Context& context) {
  if (parsed.rest.has_value() || !parsed.positional.empty() || !options.stack.pins.empty() || options.batch) {
    return Misuse(command, "--slurm-script is all that is judged", context);
  }
  if (options.format != "table" || options.changes || options.all_versions) {
    return Misuse(command,
                  "--slurm-script prints a form of its own: it goes without --format, --show and --all-versions",
                  context);
  }
  SlurmScriptOptions slurm = options.slurm;
  slurm.releases = options.releases;
  if (slurm.mode.empty()) slurm.mode = SlurmScriptOptions().mode;
  const absl::StatusOr<doors::Review> review = ReviewSlurmScript(slurm, base, backend);
  if (!review.ok()) return Failed(command, review.status(), context);
  context.out += RenderSlurmReview(*review);
  backend.CountReview("slurm", slurm.mode, doors::VerdictWord(review->verdict));
  return review->verdict == doors::Verdict::kRefused ? kExitFindings : kExitOk;
}

}  // namespace

int RunValidate(Arguments args, Context& context) {
  ValidateOptions options;
  options.stack.target.clear();
  options.slurm.mode.clear();
  const CommandLine command = Describe(&options);
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  if (options.slurm.path.empty() && !(options.slurm.fields.empty() && options.slurm.mode.empty())) {
    return Misuse(command, "--job and --door-mode have no effect without --slurm-script", context);
  }
  for (const std::string& release : options.releases) {
    if (const absl::Status status = doors::CheckRelease(release); !status.ok()) {
      return Misuse(command, absl::StrCat("--release is ", Quoted(release), ", must be ", status.message()), context);
    }
  }
  const bool door = options.batch || !options.slurm.path.empty();

  v1::ValidateConfigRequest request;
  request.set_input_format(options.input_format);
  if (door && !options.stack.probe_profile.empty()) {
    return Misuse(command,
                  "--profile moves the step, which --batch and --slurm-script do not print: one launch at a time",
                  context);
  }
  if (door) {
    absl::Status status = BuildValidateRequest(options.stack, ReaderOf(context), &request);
    if (status.ok()) status = CheckInputFormat(request);
    if (!status.ok()) return Misuse(command, status.message(), context);
    const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(options.where, context);
    if (!backend.ok()) return Misuse(command, backend.status().message(), context);
    return options.batch ? Batch(command, options, parsed, request, **backend, context)
                         : SlurmScript(command, options, parsed, request, **backend, context);
  }
  if (options.format == "jsonl" || options.format == "sarif" || !options.releases.empty()) {
    return Misuse(command, "--format jsonl, --format sarif and --release want --batch", context);
  }
  if (parsed.positional.size() > 1) {
    return Misuse(command, absl::StrCat("unexpected argument ", Quoted(parsed.positional[1]), "; many files: --batch"),
                  context);
  }
  const absl::StatusOr<std::string> input = FillConfig(parsed, context, &options.stack, &request);
  if (!input.ok()) return Misuse(command, input.status().message(), context);
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(options.where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);
  const absl::StatusOr<std::string> why_not = CompleteQuestion(**backend, &request);
  if (!why_not.ok()) return Failed(command, why_not.status(), context);
  if (!why_not->empty()) {
    const v1::ValidateConfigResponse nothing = NothingToJudge(*why_not);
    Answered(nothing, context);
    context.out += options.format == "json"   ? ToJson(nothing)
                   : options.format == "html" ? ValidateReport(*input, request, nothing, args)
                                              : RenderValidatePage(*input, nothing, options.verbose, context.terminal);
    return kExitOk;
  }

  if (options.all_versions && !options.stack_root.empty()) {
    return Misuse(command, "--stack-root is one version: it goes without --all-versions", context);
  }
  if (options.all_versions && options.format == "html") {
    return Misuse(command, "--all-versions has no --format html; the page that `flightplan serve` shows has it",
                  context);
  }
  if (options.all_versions) return AllVersions(command, options, *input, std::move(request), **backend, context);
  if (options.format == "html") request.set_repair(true);
  v1::ValidateConfigResponse response;
  const auto missing = ValidateWithFiles(options.stack_root, **backend, &request, &response);
  if (!missing.ok()) return Failed(command, missing.status(), context);
  context.err += context.terminal.Shown(MissingFilesNote(options.stack_root, *missing));
  Answered(response, context);
  if (options.format == "json") {
    context.out += ToJson(response);
  } else if (options.format == "html") {
    context.out += ValidateReport(*input, request, response, args);
  } else if (options.changes) {
    context.out += ChangesText(response.effective_changes(), true, context.terminal);
  } else {
    context.out += RenderValidatePage(*input, response, options.verbose, context.terminal);
  }
  return HasError(response.findings()) ? kExitFindings : kExitOk;
}

}  // namespace flightplan::cli
