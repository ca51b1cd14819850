#include <algorithm>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/findings.h"
#include "clients/cli/output.h"
#include "clients/cli/report.h"
#include "clients/cli/request.h"
#include "clients/cli/resolve_page.h"
#include "clients/cli/text.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "flightplan/v1/timeline.pb.h"
#include "resolver/plan/knob.h"
#include "resolver/render/launch.h"

namespace flightplan::cli {
namespace {

// What --format takes beside table and json, and the dialect it needs; empty: the target's own.
struct Format {
  absl::string_view name;
  absl::string_view dialect;
};
constexpr Format kLaunchFormats[] = {{"argv", ""},
                                     {"env", ""},
                                     {"shell", ""},
                                     {"yaml", "yaml"},
                                     {"megatron-lm", "megatron-lm"},
                                     {"one-gpu", "megatron-lm-one-gpu"},
                                     {"bridge", "megatron-bridge"},
                                     {"bridge-perf", "megatron-bridge-perf"},
                                     {"loongforge", "loongforge"}};

struct OutputOptions {
  std::string format = "table";
  std::vector<std::string> show;
  bool verbose = false;
  bool exports = false;
};

CommandLine Describe(ResolveOptions* request, OutputOptions* output, BackendOptions* backend) {
  CommandLine command{
      .name = "resolve",
      .usage = "flightplan resolve --model NAME|config.json --gpu NAME --gpus N [--tp N --pp N --ep N ...] [flags]",
      .summary = "a complete, checked launch for a given layout, every knob with its reason",
      .example = "flightplan resolve --model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 --ep 64",
      .groups = ResolveFlags(request)};
  std::vector<absl::string_view> formats = {"table", "json", "html"};
  for (const Format& format : kLaunchFormats) formats.push_back(format.name);
  command.groups.push_back(
      {"print",
       {{"--format", "F",
         "table, json, html: a page in one file, yaml, argv, env, shell, bridge, bridge-perf, loongforge, megatron-lm, "
         "one-gpu: "
         "memory of a rank",
         ToChoice(&output->format, formats)},
        {"--show", "PART,...", "only ab, changes, config, decisions, findings, layout, log or memory",
         ToCommaList(&output->show, KnownWords(ResolveParts()))},
        {"--verbose", "", "every decision, its alternatives, every source", ToSwitch(&output->verbose)},
        {"--export", "", "with --format env: export NAME='VALUE'", ToSwitch(&output->exports)}}});
  command.groups.push_back(BackendFlags(backend));
  return command;
}

absl::Status CheckParts(const std::vector<std::string>& parts) {
  const std::vector<absl::string_view> known = ResolveParts();
  for (const std::string& part : parts) {
    if (std::find(known.begin(), known.end(), part) == known.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--show wants ", absl::StrJoin(known, ", "), ", not ", Quoted(part)));
    }
  }
  return absl::OkStatus();
}

std::string EnvLines(const v1::Launch& launch, bool exports) {
  std::string out;
  for (const auto& [name, value] : std::map<std::string, std::string>(launch.env().begin(), launch.env().end())) {
    absl::StrAppend(&out, exports ? "export " : "", name, "=", ShellQuote(value), "\n");
  }
  return out;
}

const v1::Launch* FindLaunch(const v1::ResolveConfigResponse& response, absl::string_view dialect) {
  for (const v1::Launch& launch : response.launches()) {
    if (dialect.empty() || launch.dialect() == dialect) return &launch;
  }
  return nullptr;
}

// A launch is for a script: one that would fail is not printed, and the reasons go to standard error.
int PrintLaunch(const Format& format, const OutputOptions& output, const v1::ResolveConfigResponse& response,
                Context& context) {
  const v1::Launch* launch = FindLaunch(response, format.dialect);
  if (HasError(response.findings()) || launch == nullptr) {
    absl::StrAppend(&context.err, "flightplan resolve: no launch printed: ", CountText(response.findings(), 0), "\n",
                    FindingsText(response.findings(), FlagSpelling(response.config()), false, context.terminal));
    return launch == nullptr && !HasError(response.findings()) ? kExitInternal : kExitFindings;
  }
  if (format.name == "argv") {
    for (const std::string& argument : launch->argv()) absl::StrAppend(&context.out, argument, "\n");
  } else if (format.name == "env") {
    context.out += EnvLines(*launch, output.exports);
  } else {
    absl::StrAppend(&context.out, launch->text(), absl::EndsWith(launch->text(), "\n") ? "" : "\n");
  }
  return kExitOk;
}

// Takes the finding out of the answer: it is told as a part of what is assumed, and there alone.
std::optional<v1::Finding> Take(absl::string_view rule_id, v1::ResolveConfigResponse* response) {
  auto& findings = *response->mutable_findings();
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const v1::Finding& finding) { return finding.rule_id() == rule_id; });
  if (found == findings.end()) return std::nullopt;
  v1::Finding taken = std::move(*found);
  findings.erase(found);
  return taken;
}

// What the resolver took from the stack's own image; empty: nothing.
std::string TakenFromImage(v1::ResolveConfigResponse* response) {
  const std::optional<v1::Finding> image = Take("decide.software-from-image", response);
  if (!image.has_value()) return "";
  std::vector<std::string> taken, flags;
  for (const v1::KnobSetting& fact : image->observed()) {
    const bool te = fact.name() == "te", torch = fact.name() == "torch";
    taken.push_back(absl::StrCat(te      ? "TE "
                                 : torch ? "PyTorch "
                                         : "",
                                 absl::StrReplaceAll(fact.value().string_value(), {{",", " and "}})));
    flags.push_back(te ? "--te" : torch ? "--torch" : "--capability");
  }
  return absl::StrCat(absl::StrJoin(taken, ", "), " as in ", response->target(), "'s own image (",
                      absl::StrJoin(flags, ", "), ")");
}

struct LeftToUs {
  Knob knob;
  absl::string_view words, flag;
};

// What neither a flag nor --set says of the workload.
std::vector<LeftToUs> WorkloadLeftToUs(const ResolveOptions& options, const v1::ResolveConfigRequest& request) {
  const auto pinned = [&](Knob knob) {
    return absl::c_any_of(request.pinned_knobs(),
                          [knob](const v1::KnobSetting& pin) { return FindKnob(pin.name()) == knob; });
  };
  std::vector<LeftToUs> left;
  if (!options.seq.has_value() && !pinned(Knob::seq_length)) left.push_back({Knob::seq_length, "sequence", "--seq"});
  if (!options.gbs.has_value() && !pinned(Knob::global_batch_size)) {
    left.push_back({Knob::global_batch_size, "global batch", "--gbs"});
  }
  return left;
}

// The question has to say them, so the answer takes them for the caller's.
void MarkAsOurs(absl::Span<const LeftToUs> left, v1::ResolveConfigResponse* response) {
  for (v1::ConfigEntry& row : *response->mutable_config()) {
    const auto* const ours = absl::c_find_if(left, [&](const LeftToUs& one) { return Name(one.knob) == row.name(); });
    if (ours == left.end()) continue;
    row.set_origin(v1::CONFIG_ORIGIN_DECIDED);
    row.set_reason(absl::StrCat("assumed: ", ours->flag, " is not given"));
  }
}

std::vector<std::string> Assumed(const ResolveOptions& options, const v1::ResolveConfigRequest& request,
                                 v1::ResolveConfigResponse* response) {
  std::vector<std::string> assumed;
  for (const LeftToUs& left : WorkloadLeftToUs(options, request)) {
    const bool batch = left.knob == Knob::global_batch_size;
    const int64_t value = batch ? request.workload().global_batch_size() : request.workload().seq_length();
    assumed.push_back(absl::StrCat(left.words, " ", WithThousands(value), " (", left.flag, ")"));
  }
  if (options.precision.empty()) assumed.push_back("bf16 (--precision)");
  if (options.stage.empty()) assumed.push_back("production (--stage)");
  const std::string image = TakenFromImage(response);
  if (!image.empty()) assumed.push_back(image);
  const bool experts = response->model().num_moe_experts() > 0;  // without them nothing is dispatched
  if (experts && options.stack.capabilities.empty() && !absl::StrContains(image, "--capability")) {
    assumed.push_back("installed dispatcher backends unknown (--capability)");
  }
  if (const std::string rates = RecordedRates(response->findings()); !rates.empty()) {
    Take(kRecordedProfile, response);
    assumed.push_back(absl::StrCat(rates, " (--profile)"));
  }
  return assumed;
}

// With the step drawn, where there is a forecast of it.
std::string ResolveReport(const ResolvePage& page, Arguments args, Backend& backend) {
  v1::GetGpuRequest get_gpu;
  get_gpu.set_name(page.request.hardware().gpu());
  Report report{.command = "resolve", .line = LineOf("resolve", args), .text = RenderResolvePage(page, Terminal())};
  report.calls = {Recorded("ResolverService/ResolveConfig", page.request, page.response),
                  Recorded("CatalogService/GetGpu", get_gpu, page.gpu)};
  v1::DescribeTimelineRequest draw;
  *draw.mutable_resolve() = page.request;
  v1::DescribeTimelineResponse timeline;
  if (backend.DescribeTimeline(draw, &timeline).ok()) {
    report.calls.push_back(Recorded("TimelineService/DescribeTimeline", draw, timeline));
  }
  return RenderReport(report);
}

void PrintPage(const ResolvePage& page, const std::vector<std::string>& parts, Context& context) {
  if (parts.empty()) context.out += RenderResolvePage(page, context.terminal);
  for (const std::string& part : parts) context.out += RenderResolvePart(page, part, context.terminal);
}

}  // namespace

int RunResolve(Arguments args, Context& context) {
  ResolveOptions options;
  OutputOptions output;
  BackendOptions where;
  const CommandLine command = Describe(&options, &output, &where);
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  if (const absl::Status status = CheckParts(output.show); !status.ok())
    return Misuse(command, status.message(), context);

  if (output.exports && output.format != "env") {
    return Misuse(command, "--export has no effect without --format env", context);
  }
  if (!output.show.empty() && output.format != "table") {
    return Misuse(command, absl::StrCat("--show is of the table: it has no effect with --format ", output.format),
                  context);
  }
  options.read = ReaderOf(context);
  v1::ResolveConfigRequest request;
  if (const absl::Status status = BuildResolveRequest(options, &request); !status.ok()) {
    return Misuse(command, status.message(), context);
  }
  const Format* format = std::find_if(std::begin(kLaunchFormats), std::end(kLaunchFormats),
                                      [&](const Format& row) { return row.name == output.format; });
  const bool launch_only = format != std::end(kLaunchFormats);
  if (launch_only && !format->dialect.empty()) request.add_dialects(std::string(format->dialect));

  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);
  v1::ResolveConfigResponse response;
  if (const absl::Status status = (*backend)->ResolveConfig(request, &response); !status.ok()) {
    return Failed(command, status, context);
  }
  Answered(response, context);
  MarkAsOurs(WorkloadLeftToUs(options, request), &response);
  if (launch_only) return PrintLaunch(*format, output, response, context);
  if (output.format == "json") {
    context.out += ToJson(response);
  } else {
    v1::GetGpuRequest get_gpu;
    get_gpu.set_name(request.hardware().gpu());
    v1::GpuSystem gpu;
    (void)(*backend)->GetGpu(get_gpu, &gpu);  // only for its NVLink domain on the page
    const std::vector<std::string> assumed = Assumed(options, request, &response);
    const ResolvePage page{request, response, gpu, assumed, output.verbose};
    if (output.format == "html") {
      context.out += ResolveReport(page, args, **backend);
    } else {
      PrintPage(page, output.show, context);
    }
  }
  return HasError(response.findings()) ? kExitFindings : kExitOk;
}

}  // namespace flightplan::cli
