#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/exchange_output.h"
#include "clients/cli/name_lists.h"
#include "clients/cli/output.h"
#include "clients/cli/probe_figures.h"
#include "clients/cli/probe_report.h"
#include "clients/cli/progress_line.h"
#include "clients/cli/request.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"
#include "clients/cli/whole_file.h"
#include "flightplan/v1/probe_service.pb.h"
#include "resolver/base/digest.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/profile_message.h"
#include "resolver/normalize/violations.h"
#include "service/local/probe_worker.h"

namespace flightplan::cli {
namespace {

struct ProbeOptions {
  std::optional<int64_t> device;
  std::string devices;
  ResolveOptions layer;  // --model and the sizes of a layout
  std::vector<std::string> groups;
  std::optional<double> budget, memory_gib;
  std::string worker, fake;
  std::string out, report, import;
  std::string exchange, device_name;
  std::optional<int64_t> ranks, nodes;
  bool list = false;
  std::string format = "table";
};

CommandLine Describe(ProbeOptions* o, BackendOptions* where) {
  CommandLine command{
      .name = "probe",
      .usage =
          "flightplan probe [--device N | --devices A,B] [--model NAME] [--groups A,B] [--out FILE] [--report "
          "FILE.html] | --import FILE | --list\n"
          "flightplan probe --import-exchange FILE [--import PROFILE | --device-name NAME] [--nodes N --ranks N]",
      .summary = "measure this node's GPU in at most 20 s; resolve cites the profile from then on",
      .example =
          "flightplan probe --report probe.html\n"
          "flightplan probe --devices all --budget 30\n"
          "flightplan probe --fake probe/testdata/synthetic.json --groups overlap\n"
          "flightplan probe --import-exchange alltoall_perf.log --import h100.json",
      .groups = {}};
  command.groups.push_back(
      {"measure",
       {{"--device", "N", "device index; default: the first free one", ToInteger(&o->device, 0)},
        {"--devices", "A,B,...|all",
         "measure exchanges between these GPUs of the node too, and compute beside them; default: one GPU alone",
         ToText(&o->devices)},
        {"--model", "NAME|FILE", "measure the MoE layer of this model, or of a config.json; default: Qwen3-30B-A3B's",
         ToText(&o->layer.model, {.list = kModelNames})},
        {"--tp", "N", "tensor parallel size; default: 1", ToInteger(&o->layer.tp)},
        {"--cp", "N", "context parallel size; default: 1", ToInteger(&o->layer.cp)},
        {"--ep", "N", "ranks that its experts are shared by; default: 8", ToInteger(&o->layer.ep, 2)},
        {"--etp", "N", "expert tensor parallel size; default: 1", ToInteger(&o->layer.etp)},
        {"--mbs", "N", "microbatch size; default: 1", ToInteger(&o->layer.mbs)},
        {"--seq", "N", "sequence length; default: 4096", ToInteger(&o->layer.seq)},
        {"--groups", "A,B,...", "of ceilings, dispatch, experts, exchange, overlap, launch, memory; default: all",
         ToCommaList(&o->groups, KnownWords(service::ProbeGroups()))},
        {"--budget", "SECONDS", "start nothing new after so long; default: 20", ToReal(&o->budget, 1, 30)},
        {"--memory-gib", "N",
         "hold so much of the GPU, and no more than a quarter of what is free; default: 2; large layers want 8",
         ToReal(&o->memory_gib, 0.5, 64)},
        {"--worker", "FILE", "the worker; default: flightplan-probe beside this program or on the PATH",
         ToText(&o->worker)},
        {"--fake", "FILE", "replay a file instead of a GPU; such a profile is never evidence", ToText(&o->fake)}}});
  command.groups.push_back(
      {"profiles",
       {{"--out", "FILE", "write the profile as JSON, - for standard output", ToText(&o->out)},
        {"--report", "FILE.html", "write one page with curves, map and timeline", ToText(&o->report)},
        {"--import", "FILE", "store (and show) a profile measured elsewhere", ToText(&o->import)},
        {"--import-exchange", "FILE",
         "rates between real GPUs from the output of alltoall_perf (nccl-tests), DeepEP's, UCCL-EP's or HybridEP's own "
         "tests, "
         "added to the profile of --import",
         ToText(&o->exchange)},
        {"--device-name", "NAME", "the GPU as the driver names it, where neither output nor profile does",
         ToText(&o->device_name)},
        {"--ranks", "N", "GPUs of that run, where its output does not say", ToInteger(&o->ranks, 2)},
        {"--nodes", "N", "nodes of that run, where its output does not say", ToInteger(&o->nodes)},
        {"--list", "", "the stored profiles, newest first", ToSwitch(&o->list)},
        {"--format", "F", "table or json", ToChoice(&o->format, {"table", "json"})}}});
  command.groups.push_back(BackendFlags(where));
  return command;
}

std::string ProgressText(const v1::ProbeProgress& progress) {
  return absl::StrCat("measuring: ", PercentText(progress.done_ratio()), "  ",
                      Harmless(progress.current_row()).substr(0, 60));
}

std::string When(const v1::HardwareProfile& profile) {
  if (profile.measure_time().seconds() <= 0) return "";
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixSeconds(profile.measure_time().seconds()),
                          absl::UTCTimeZone());
}

void PrintProfile(const v1::HardwareProfile& profile, Context& context) {
  const Terminal& terminal = context.terminal;
  absl::StrAppend(&context.out, "  ", terminal.Paint(terminal.Shown(profile.device_name()), Style::kBold));
  for (const std::string& fact :
       {profile.driver_version().empty() ? "" : absl::StrCat("driver ", profile.driver_version()),
        profile.sm_count() > 0 ? absl::StrCat(profile.sm_count(), " SMs") : "", When(profile), profile.name(),
        absl::StrCat(profile.rows_size(), " rows")}) {
    if (!fact.empty()) absl::StrAppend(&context.out, "  ", terminal.Paint(terminal.Shown(fact), Style::kDim));
  }
  context.out += "\n";
  if (profile.kind() == "synthetic")
    absl::StrAppend(&context.out, "  ", terminal.Paint("synthetic: replayed, never evidence", Style::kYellow), "\n");
  if (profile.partial())
    absl::StrAppend(&context.out, "  ", terminal.Paint("partial: see the notes", Style::kYellow), "\n");
  context.out += "\n";
  for (const std::string& line : ProbeConclusions(*FitMessage(profile))) {
    for (const std::string& part : Wrap(terminal.Shown(line), terminal.width - 4))
      absl::StrAppend(&context.out, "  ", part, "\n");
  }
  Table table({{}, {.min_width = 12, .max_lines = 2, .shrink = true}, {.right = true}, {.right = true}, {}});
  const auto head = [](absl::string_view text) { return Cell(text, Style::kDim); };
  table.Row({head("row"), head("parameters"), head("median"), head("+-"), head("")});
  for (const v1::ProbeRow& row : profile.rows()) {
    table.Row({Cell(row.id()), Cell(ProbeParameters(row), Style::kDim), Cell(ProbeValue(row)), Cell(ProbeSpread(row)),
               Cell(row.kind() == "measured" ? "" : row.kind(), Style::kYellow)});
  }
  absl::StrAppend(&context.out, "\n", table.Render(terminal));
  for (const std::string& note : profile.notes()) absl::StrAppend(&context.out, "  note: ", terminal.Shown(note), "\n");
}

void PrintList(const std::vector<v1::HardwareProfile>& profiles, Context& context) {
  if (profiles.empty()) {
    context.out += "  no profiles are stored: flightplan probe measures this node's GPU\n";
    return;
  }
  Table table({{.min_width = 16, .shrink = true}, {.min_width = 12, .shrink = true}, {}, {}, {.right = true}, {}});
  const auto head = [](absl::string_view text) { return Cell(text, Style::kDim); };
  table.Row({head("profile"), head("device"), head("driver"), head("measured"), head("rows"), head("")});
  for (const v1::HardwareProfile& p : profiles) {
    table.Row({Cell(p.name()), Cell(p.device_name()), Cell(p.driver_version()), Cell(When(p)),
               Cell(absl::StrCat(p.rows_size())), Cell(p.partial() ? "partial" : "", Style::kYellow)});
  }
  context.out += table.Render(context.terminal);
}

absl::Status WriteFile(const std::string& path, const std::string& text, Context& context) {
  if (path == "-") {
    context.out += text;
    return absl::OkStatus();
  }
  return WriteWholeFile(path, text);
}

// Nothing was measured because of the machine, not because of the command line: exit code 1. A worker that crashed or
// printed nonsense is our fault.
int NoProfile(const CommandLine& command, const absl::Status& status, Context& context) {
  const int code = Failed(command, status, context);
  if (status.code() == absl::StatusCode::kFailedPrecondition) return kExitFindings;
  return status.code() == absl::StatusCode::kAborted ? kExitInternal : code;
}

absl::StatusOr<v1::HardwareProfile> ReadProfile(const std::string& path) {
  absl::StatusOr<std::string> text = ReadInput(path);
  if (!text.ok()) return text.status();
  v1::HardwareProfile profile;
  absl::Status status = ProfileFromJson(*text, &profile);
  if (status.ok()) {
    Violations violations;
    ProfileFromMessage(profile, "", &violations);
    status = violations.ToStatus();
  }
  if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
  return profile;
}

// "", "all" or "0,1,3".
absl::Status FillDevices(const std::string& text, v1::RunProbeRequest* request) {
  request->set_all_devices(text == "all");
  if (text.empty() || text == "all") return absl::OkStatus();
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    int32_t index = 0;
    if (!absl::SimpleAtoi(word, &index))
      return absl::InvalidArgumentError(absl::StrCat("--devices: ", Quoted(word), " is no index: all, or 0,1,2"));
    request->add_device_indices(index);
  }
  return absl::OkStatus();
}

absl::Status Measure(const ProbeOptions& options, Backend& backend, v1::HardwareProfile* profile) {
  ProbeRun run;
  run.worker = options.worker;
  run.fake = options.fake;
  v1::RunProbeRequest request;
  FLIGHTPLAN_RETURN_IF_ERROR(FillDevices(options.devices, &request));
  if (!options.layer.model.empty()) FLIGHTPLAN_RETURN_IF_ERROR(FillModel(options.layer, request.mutable_model()));
  v1::Layout layout;
  FLIGHTPLAN_RETURN_IF_ERROR(FillLayout(options.layer, &layout));
  if (layout.ByteSizeLong() > 0) *request.mutable_layout() = std::move(layout);
  if (options.layer.seq.has_value()) request.set_seq_length(*options.layer.seq);
  if (options.memory_gib.has_value()) request.set_memory_limit_bytes(std::llround(*options.memory_gib * 1024) << 20);
  if (options.device.has_value())
    request.set_device_index(static_cast<int32_t>(std::min<int64_t>(*options.device, 1 << 20)));
  for (const std::string& group : options.groups) request.add_groups(group);
  if (options.budget.has_value()) {
    const auto nanos = static_cast<int64_t>(*options.budget * 1e9);
    request.mutable_budget()->set_seconds(nanos / 1'000'000'000);
    request.mutable_budget()->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  }
  ProgressLine line;
  return backend.RunProbe(
      request, run,
      [&](const v1::ProbeProgress& progress) {
        if (line.shown()) line.Show(ProgressText(progress));
        return true;
      },
      profile);
}

void AddNote(const std::string& note, v1::HardwareProfile* profile) {
  const auto& notes = profile->notes();
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) profile->add_notes(note);
}

// "h200-a" and some output -> "h200-a-x1f0c9a2b": another content, so another profile; with another output, instead.
std::string NameWith(absl::string_view name, absl::string_view output) {
  constexpr size_t kDigits = 8, kSuffix = 2 + kDigits;
  if (name.size() > kSuffix && absl::StartsWith(name.substr(name.size() - kSuffix), "-x")) name.remove_suffix(kSuffix);
  return absl::StrCat(name.substr(0, kMaxProfileName - kSuffix), "-x", Sha256Hex(output).substr(0, kDigits));
}

// The profile of --import, or an empty one, with the rows of an exchange that another program measured: they take the
// place of rows of the same exchange over the same link that were imported before.
absl::StatusOr<v1::HardwareProfile> AddExchange(const ProbeOptions& options, v1::HardwareProfile profile) {
  const absl::StatusOr<std::string> text = ReadInput(options.exchange);
  if (!text.ok()) return text.status();
  constexpr int64_t kMost = 1 << 20;
  const ExchangeRun run{static_cast<int>(std::min(options.ranks.value_or(0), kMost)),
                        static_cast<int>(std::min(options.nodes.value_or(0), kMost))};
  absl::StatusOr<ExchangeOutput> output = ReadExchangeOutput(*text, run);
  if (!output.ok()) return absl::InvalidArgumentError(absl::StrCat(options.exchange, " ", output.status().message()));
  if (profile.device_name().empty()) {
    profile.set_device_name(options.device_name.empty() ? output->device_name : options.device_name);
    if (profile.device_name().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          options.exchange, " does not name the GPU: add --import PROFILE, or --device-name 'NVIDIA H100 80GB HBM3'"));
    }
    profile.set_kind("measured");
    profile.set_probe_version("imported");
    profile.mutable_measure_time()->set_seconds(absl::ToUnixSeconds(absl::Now()));
  } else if (!output->device_name.empty() && output->device_name != profile.device_name()) {
    return absl::InvalidArgumentError(absl::StrCat(options.exchange, " was measured on ", Quoted(output->device_name),
                                                   ", the profile on ", Quoted(profile.device_name())));
  }
  const auto same = [&](const v1::ProbeRow& row) {
    const v1::ProbeRow& fresh = output->rows.front();
    const auto link = row.labels().find("link");
    return row.kind() == "imported" && row.id() == fresh.id() && link != row.labels().end() &&
           link->second == fresh.labels().at("link");
  };
  auto* rows = profile.mutable_rows();
  rows->erase(std::remove_if(rows->begin(), rows->end(), same), rows->end());
  for (v1::ProbeRow& row : output->rows) *profile.add_rows() = std::move(row);
  AddNote(absl::StrCat("exchange rates imported from ", Utf8Prefix(Harmless(options.exchange), 200)), &profile);
  for (const std::string& note : output->notes) AddNote(note, &profile);
  if (!profile.name().empty()) profile.set_name(NameWith(profile.name(), *text));
  return profile;
}

// The profile of a file, of another program's output, or of both.
absl::StatusOr<v1::HardwareProfile> ReadFiles(const ProbeOptions& options) {
  v1::HardwareProfile profile;
  if (!options.import.empty()) {
    absl::StatusOr<v1::HardwareProfile> read = ReadProfile(options.import);
    if (!read.ok()) return absl::InvalidArgumentError(absl::StrCat("--import: ", read.status().message()));
    profile = *std::move(read);
  }
  if (options.exchange.empty()) return profile;
  absl::StatusOr<v1::HardwareProfile> added = AddExchange(options, std::move(profile));
  if (!added.ok()) return absl::InvalidArgumentError(absl::StrCat("--import-exchange: ", added.status().message()));
  return added;
}

}  // namespace

int RunProbe(Arguments args, Context& context) {
  ProbeOptions options;
  BackendOptions where;
  const CommandLine command = Describe(&options, &where);
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);
  if (options.list) {
    std::vector<v1::HardwareProfile> profiles;
    if (const absl::Status status = (*backend)->ListProfiles(&profiles); !status.ok())
      return Failed(command, status, context);
    if (options.format == "json") {
      v1::ListProfilesResponse list;
      for (const v1::HardwareProfile& profile : profiles) *list.add_profiles() = profile;
      context.out += ToJson(list);
    } else {
      PrintList(profiles, context);
    }
    return kExitOk;
  }
  v1::HardwareProfile profile;
  if (!options.import.empty() || !options.exchange.empty()) {
    const absl::StatusOr<v1::HardwareProfile> read = ReadFiles(options);
    if (!read.ok()) return Misuse(command, read.status().message(), context);
    if (const absl::Status status = (*backend)->ImportProfile(*read, &profile); !status.ok())
      return Failed(command, status, context);
  } else if (const absl::Status status = Measure(options, **backend, &profile); !status.ok()) {
    return NoProfile(command, status, context);
  }
  if (!options.out.empty()) {
    if (const absl::Status status = WriteFile(options.out, ProfileToJson(profile), context); !status.ok())
      return NotWritten(command, status, context);
  }
  if (!options.report.empty()) {
    if (const absl::Status status = WriteFile(options.report, ProbeReport(profile), context); !status.ok())
      return NotWritten(command, status, context);
  }
  if (options.format == "json") {
    context.out += ToJson(profile);
  } else if (options.out != "-" && options.report != "-") {
    PrintProfile(profile, context);
  }
  return kExitOk;
}

}  // namespace flightplan::cli
