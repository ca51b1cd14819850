#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/config_input.h"
#include "clients/cli/file_question.h"
#include "clients/cli/output.h"
#include "clients/cli/report.h"
#include "clients/cli/request.h"
#include "clients/cli/text.h"
#include "clients/cli/timeline_page.h"
#include "clients/cli/timeline_svg.h"
#include "clients/cli/timeline_trace.h"
#include "clients/cli/words.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "flightplan/v1/timeline.pb.h"
#include "resolver/base/status_macros.h"

namespace flightplan::cli {
namespace {

constexpr Word<v1::TimelineZoom> kZooms[] = {
    {"step", v1::TIMELINE_ZOOM_STEP}, {"steady", v1::TIMELINE_ZOOM_STEADY}, {"layer", v1::TIMELINE_ZOOM_LAYER}};

constexpr int32_t kMostEvents = 32768;  // that a server sends

struct TimelineOptions {
  ResolveOptions question;
  std::string input_format;
  std::string format = "text";
  std::string zoom;
  std::vector<std::string> ranks;
  std::optional<int64_t> layer, max_events;
  BackendOptions where;
};

CommandLine Describe(TimelineOptions* o) {
  CommandLine command{
      .name = "timeline",
      .usage =
          "flightplan timeline [SCRIPT | -] [--model NAME --gpu NAME --gpus N --tp N --pp N ...] [--zoom Z] "
          "[--format F] [flags]",
      .summary = "one step drawn: what each pipeline rank does when, on which stream, exposed and hidden",
      .example =
          "flightplan timeline --model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 --ep 64\n"
          "flightplan timeline --model qwen3-30b-a3b --gpu h100 --gpus 16 --ep 8 --format svg > step.svg\n"
          "flightplan timeline pretrain.sh --gpu h100-sxm --gpus 64 --format trace > step.json",
      .max_positional = 1,
      .takes_rest = true,
      .groups = ResolveFlags(&o->question),
      .positional = {.files = true}};
  command.groups.push_back(
      {"picture",
       {{"--zoom", "Z", "step: by pipeline rank; steady: a forward and a backward; layer: operators. default: all",
         ToChoice(&o->zoom, WordsOf(kZooms))},
        {"--rank", "N,...",
         "of step only these pipeline ranks; the first is that of steady and layer (default: slowest)",
         ToCommaList(&o->ranks)},
        {"--layer", "N", "the decoder layer of layer, from 0; default: the rank's heaviest", ToInteger(&o->layer, 0)},
        {"--max-events", "N", "of step, of all ranks (default 4096); passes beyond that stand together",
         ToInteger(&o->max_events)}}});
  command.groups.push_back(
      {"print",
       {{"--format", "F",
         "text (default), table: totals, svg: a picture, html: a page in one file, trace: for Perfetto, json",
         ToChoice(&o->format, {"text", "table", "svg", "html", "trace", "json"})},
        {"--input-format", "F", "of SCRIPT; default: by the target, the file's name and its first lines",
         ToText(&o->input_format, InputFormatValues())}}});
  command.groups.push_back(BackendFlags(&o->where));
  return command;
}

absl::Status FillView(const TimelineOptions& options, v1::DescribeTimelineRequest* request) {
  if (!options.zoom.empty()) request->add_zooms(ValueOf(kZooms, options.zoom));
  for (const std::string& text : options.ranks) {
    int32_t rank = 0;
    if (!absl::SimpleAtoi(text, &rank) || rank < 0) {
      return absl::InvalidArgumentError(absl::StrCat("--rank wants pipeline ranks from 0, not ", Quoted(text)));
    }
    if (request->pipeline_ranks().empty()) request->set_detail_pipeline_rank(rank);
    request->add_pipeline_ranks(rank);
  }
  // A picture in letters shows no events one by one: it is the better the more there are.
  if (options.format == "text") request->set_max_event_count(kMostEvents);
  constexpr int64_t kMost = 1 << 30;  // more is out of range in any case
  if (options.layer.has_value()) request->set_layer_index(static_cast<int32_t>(std::min(kMost, *options.layer)));
  if (options.max_events.has_value()) {
    request->set_max_event_count(static_cast<int32_t>(std::min(kMost, *options.max_events)));
  }
  return absl::OkStatus();
}

// The question into the request; returned: whose step it is.
absl::StatusOr<std::string> FillQuestion(const TimelineOptions& options, const ParsedArguments& parsed,
                                         const Context& context, Backend& backend,
                                         v1::DescribeTimelineRequest* request) {
  const bool script = !parsed.positional.empty() || parsed.rest.has_value();
  if (!script) {
    v1::ResolveConfigRequest* const question = request->mutable_resolve();
    FLIGHTPLAN_RETURN_IF_ERROR(BuildResolveRequest(options.question, question));
    return absl::StrCat(options.question.model, " on ", WithThousands(question->hardware().gpu_count()), " x ",
                        question->hardware().gpu());
  }
  if (!options.question.model.empty()) {
    return absl::InvalidArgumentError("--model and a SCRIPT: one of them says what runs");
  }
  StackOptions stack = options.question.stack;
  v1::ValidateConfigRequest* const config = request->mutable_validate();
  config->set_input_format(options.input_format);
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string name, FillConfig(parsed, context, &stack, config));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string why_not, CompleteQuestion(backend, config));
  if (!why_not.empty()) return absl::InvalidArgumentError(absl::StrCat("nothing to draw: ", why_not));
  return stack.gpu.empty() ? name : absl::StrCat(name, " on ", stack.gpu);
}

}  // namespace

int RunTimeline(Arguments args, Context& context) {
  TimelineOptions options;
  options.question.stack.target.clear();
  const CommandLine command = Describe(&options);
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  // A question without a stack is Megatron-LM's; a script shows its own.
  const bool script = !parsed.positional.empty() || parsed.rest.has_value();
  if (!script && options.question.stack.target.empty()) options.question.stack.target = StackOptions().target;
  v1::DescribeTimelineRequest request;
  if (const absl::Status status = FillView(options, &request); !status.ok()) {
    return Misuse(command, status.message(), context);
  }
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(options.where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);
  const absl::StatusOr<std::string> heading = FillQuestion(options, parsed, context, **backend, &request);
  if (!heading.ok()) return Misuse(command, heading.status().message(), context);
  v1::DescribeTimelineResponse timeline;
  if (const absl::Status status = (*backend)->DescribeTimeline(request, &timeline); !status.ok()) {
    return Failed(command, status, context);
  }
  if (options.format == "json") {
    context.out += ToJson(timeline);
  } else if (options.format == "trace") {
    context.out += TimelineTrace(timeline);
  } else if (options.format == "html") {
    context.out += RenderReport({.command = "timeline",
                                 .line = LineOf("timeline", args),
                                 .text = TimelineText(timeline, *heading, Terminal()),
                                 .calls = {Recorded("TimelineService/DescribeTimeline", request, timeline)}});
  } else if (options.format == "svg") {
    context.out += TimelineSvg(timeline, *heading);
  } else if (options.format == "table") {
    context.out += TimelineTable(timeline, *heading, context.terminal);
  } else {
    context.out += TimelineText(timeline, *heading, context.terminal);
  }
  return kExitOk;
}

}  // namespace flightplan::cli
