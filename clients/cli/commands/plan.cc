#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/comparison.h"
#include "clients/cli/findings.h"
#include "clients/cli/output.h"
#include "clients/cli/progress_line.h"
#include "clients/cli/report.h"
#include "clients/cli/request.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"
#include "clients/cli/words.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/plan/decision.h"

namespace flightplan::cli {
namespace {

constexpr Word<v1::PlanObjective> kObjectives[] = {{"time", v1::PLAN_OBJECTIVE_STEP_TIME},
                                                   {"memory", v1::PLAN_OBJECTIVE_MEMORY_HEADROOM},
                                                   {"gpus", v1::PLAN_OBJECTIVE_GPU_COUNT}};
constexpr Word<v1::FitVerdict> kFits[] = {{"fits", v1::FIT_VERDICT_FITS},
                                          {"marginal", v1::FIT_VERDICT_MARGINAL},
                                          {"does not fit", v1::FIT_VERDICT_DOES_NOT_FIT}};

struct PlanOptions {
  std::string format = "table";
  std::string objective = "time";
  std::optional<int64_t> top;
};

CommandLine Describe(ResolveOptions* request, PlanOptions* plan, BackendOptions* backend) {
  CommandLine command{.name = "plan",
                      .usage = "flightplan plan --model NAME|config.json --gpu NAME --gpus N [--tp N ...] [flags]",
                      .summary = "the best layouts for a model on a number of GPUs; sizes that are given are kept",
                      .example = "flightplan plan --model deepseek-v3 --gpu h100-sxm --gpus 1024",
                      .groups = ResolveFlags(request)};
  command.groups.push_back({"search",
                            {{"--top", "N", "plans to show, at most 100; default: 10", ToInteger(&plan->top)},
                             {"--rank-by", "WHAT", "time, memory (most left free) or gpus (fewest, at most --gpus)",
                              ToChoice(&plan->objective, WordsOf(kObjectives))},
                             {"--format", "F", "table, json or html: a page in one file",
                              ToChoice(&plan->format, {"table", "json", "html"})}}});
  command.groups.push_back(BackendFlags(backend));
  return command;
}

std::string ProgressText(const v1::PlanProgress& progress) {
  std::string text = absl::StrCat("searching: ", PercentText(progress.done_ratio()), ", ",
                                  WithThousands(progress.judged_count()), " judged");
  if (progress.has_best_step_time_us()) {
    absl::StrAppend(&text, absl::StrFormat(", best %.3g s", progress.best_step_time_us() / 1e6));
  }
  return text;
}

// "20.16 s (16.8..23.5)".
std::string StepText(const v1::Range& step) {
  if (step.value() < 1e6)
    return absl::StrFormat("%.0f ms (%.0f..%.0f)", step.value() / 1e3, step.low() / 1e3, step.high() / 1e3);
  return absl::StrFormat("%.2f s (%.1f..%.1f)", step.value() / 1e6, step.low() / 1e6, step.high() / 1e6);
}

std::string ValueOfKnob(const v1::ResolveConfigResponse& plan, absl::string_view name) {
  for (const v1::ConfigEntry& entry : plan.config()) {
    if (entry.name() != name) continue;
    const v1::KnobValue& value = entry.value();
    if (value.has_list_value()) {
      std::string text;
      for (const v1::KnobValue& item : value.list_value().values()) {
        absl::StrAppend(&text, text.empty() ? "" : ",", item.string_value());
      }
      return text;
    }
    return value.bool_value() ? "true" : value.string_value();
  }
  return "";
}

// What was decided about execution: "flex/hybridep, EP overlap, recompute moe_act".
std::string ExecutionText(const v1::ResolveConfigResponse& plan) {
  std::string text;
  const auto add = [&](absl::string_view part) { absl::StrAppend(&text, text.empty() ? "" : ", ", part); };
  if (plan.layout().sizes().expert_model_parallel_size() > 1) {
    const std::string type = ValueOfKnob(plan, "moe_token_dispatcher_type");
    add(type == "flex" ? ValueOfKnob(plan, "moe_flex_dispatcher_backend") : type.empty() ? "allgather" : type);
  }
  if (!ValueOfKnob(plan, "overlap_moe_expert_parallel_comm").empty()) add("EP overlap");
  const std::string granularity = ValueOfKnob(plan, "recompute_granularity");
  if (granularity == "full") add("full recompute");
  if (granularity == "selective") add(absl::StrCat("recompute ", ValueOfKnob(plan, "recompute_modules")));
  const std::string graphs = ValueOfKnob(plan, "cuda_graph_impl");
  if (!graphs.empty() && graphs != "none") add(absl::StrCat("graphs ", graphs));
  return text.empty() ? "as by default" : text;
}

// Why a plan stands behind slower ones: "ranked +12 % (PP above 8)"; empty: it does not.
std::string CautionText(const v1::ResolveConfigResponse& plan) {
  for (const v1::Finding& finding : plan.findings()) {
    if (finding.rule_id() != "plan.outside-evidence" || finding.observed().empty()) continue;
    std::vector<std::string> reasons;
    for (const absl::string_view reason : absl::StrSplit(finding.seen(), "; ")) {
      reasons.emplace_back(reason.substr(0, reason.find(':')));
    }
    return absl::StrFormat("ranked %+.0f %% (%s)", 100 * finding.observed(0).value().double_value(),
                           absl::StrJoin(reasons, ", "));
  }
  return "";
}

// "marginal; ranked +12 % (PP above 8); alltoall, EP overlap"
std::string DecidedText(const v1::ResolveConfigResponse& plan) {
  std::vector<std::string> parts;
  if (const v1::FitVerdict fit = plan.estimate().fit(); fit != v1::FIT_VERDICT_FITS)
    parts.emplace_back(WordFor(kFits, fit));
  if (std::string caution = CautionText(plan); !caution.empty()) parts.push_back(std::move(caution));
  parts.push_back(ExecutionText(plan));
  return absl::StrJoin(parts, "; ");
}

int64_t GpusOf(const v1::ResolveConfigResponse& plan) {
  const v1::Layout& sizes = plan.layout().sizes();
  return int64_t{1} * plan.layout().data_parallel_size() * sizes.tensor_model_parallel_size() *
         sizes.pipeline_model_parallel_size() * sizes.context_parallel_size();
}

// Whether a plan uses fewer GPUs than were asked about.
bool LeavesGpus(const v1::PlanLayoutsRequest& request, const v1::ResolveConfigResponse& plan) {
  return GpusOf(plan) != request.base().hardware().gpu_count();
}

std::string PlansTable(const v1::PlanLayoutsRequest& request, const v1::PlanResult& result, const Terminal& terminal) {
  const bool counts = std::any_of(result.plans().begin(), result.plans().end(),
                                  [&request](const auto& plan) { return LeavesGpus(request, plan); });
  std::vector<Column> columns = {
      {.right = true}, {}, {}, {.right = true}, {}, {.right = true}, {.max_lines = 4, .shrink = true}};
  if (counts) columns.insert(columns.begin() + 1, {.right = true});
  Table table(columns);
  const auto add = [&table, counts](std::vector<Cell> cells, Cell gpus) {
    if (counts) cells.insert(cells.begin() + 1, std::move(gpus));
    table.Row(std::move(cells));
  };
  const auto head = [](absl::string_view text) { return Cell(text, Style::kDim); };
  add({head(""), head("dense"), head("experts"), head("mbs"), head("step"), head("GiB"), head("decided")},
      head("GPUs"));
  int rank = 0;
  for (const v1::ResolveConfigResponse& plan : result.plans()) {
    const v1::Layout& sizes = plan.layout().sizes();
    std::string dense =
        absl::StrCat("TP", sizes.tensor_model_parallel_size(), " CP", sizes.context_parallel_size(), " DP",
                     plan.layout().data_parallel_size(), " PP", sizes.pipeline_model_parallel_size());
    if (sizes.virtual_pipeline_model_parallel_size() > 1) {
      absl::StrAppend(&dense, " VPP", sizes.virtual_pipeline_model_parallel_size());
    }
    std::string experts;
    if (plan.model().num_moe_experts() > 0) {
      experts = absl::StrCat("ETP", sizes.expert_tensor_parallel_size(), " EP", sizes.expert_model_parallel_size(),
                             " EDP", plan.layout().expert_data_parallel_size());
    }
    const v1::Range& step = plan.estimate().step_time_us();
    const v1::StageMemory* fullest = FullestStage(plan.estimate());
    const v1::FitVerdict fit = plan.estimate().fit();
    add({Cell(absl::StrCat(++rank), Style::kBold), dense, experts, absl::StrCat(sizes.micro_batch_size()),
         StepText(step),
         Cell(fullest == nullptr ? "" : GibNumber(fullest->total_bytes().value()),
              fit == v1::FIT_VERDICT_FITS ? Style::kGreen : Style::kYellow),
         DecidedText(plan)},
        WithThousands(GpusOf(plan)));
  }
  return table.Render(terminal);
}

std::string Statistics(const v1::PlanResult& result) {
  std::string text = absl::StrCat(WithThousands(result.space_count()),
                                  " candidates: ", WithThousands(result.judged_count()), " judged");
  for (const auto& [bound, words] : {std::pair<const char*, const char*>{"memory_bound", "cannot fit"},
                                     {"time_bound", "cannot be faster"},
                                     {"incompatible", "not to be combined"},
                                     {"refused_by_rules", "layouts refused by the rules"}}) {
    const auto it = result.pruned_counts().find(bound);
    if (it != result.pruned_counts().end() && it->second > 0) {
      absl::StrAppend(&text, ", ", WithThousands(it->second), " ", words);
    }
  }
  return text;
}

// Without what makes room in it the plan with the least memory would be another one.
std::string ExecutionFlags(const v1::ResolveConfigResponse& plan) {
  v1::Fix fix;
  for (const v1::Decision& decision : plan.decisions()) {
    if (decision.rule_id() != kExecutionDecision) continue;
    v1::KnobSetting& knob = *fix.add_knobs();
    knob.set_name(decision.name());
    if (decision.has_value()) *knob.mutable_value() = decision.value();
  }
  return fix.knobs().empty() ? "" : absl::StrCat(" ", FixText(fix, FlagSpelling(plan.config())));
}

// What "ranked +N %" does to the order.
std::string CautionNote(v1::PlanObjective objective) {
  const absl::string_view among = objective == v1::PLAN_OBJECTIVE_MEMORY_HEADROOM ? "among plans of as many GiB "
                                  : objective == v1::PLAN_OBJECTIVE_GPU_COUNT     ? "among plans of as many GPUs "
                                                                                  : "";
  return absl::StrCat("ranked +N %: next to nobody published a layout like it, or it fills the memory, so ", among,
                      "the order counts its step as that much longer");
}

void PrintPage(const v1::PlanLayoutsRequest& request, const v1::PlanResult& result, Context& context) {
  const Terminal& terminal = context.terminal;
  const v1::ResolveConfigRequest& base = request.base();
  absl::StrAppend(&context.out,
                  terminal.Paint(terminal.Shown(absl::StrCat(base.model().name(), " on ",
                                                             WithThousands(base.hardware().gpu_count()), " ",
                                                             base.hardware().gpu())),
                                 Style::kBold),
                  ", sequence ", WithThousands(base.workload().seq_length()), ", global batch ",
                  WithThousands(base.workload().global_batch_size()), "\n\n");
  if (result.plans_size() > 0) absl::StrAppend(&context.out, PlansTable(request, result, terminal), "\n");
  absl::StrAppend(&context.out, FindingsText(result.findings(), FlagSpelling({}), false, terminal));
  absl::StrAppend(&context.out, terminal.Paint(Statistics(result), Style::kDim), "\n");
  if (result.plans_size() == 0) return;
  if (std::any_of(result.plans().begin(), result.plans().end(),
                  [](const v1::ResolveConfigResponse& plan) { return !CautionText(plan).empty(); })) {
    absl::StrAppend(&context.out, terminal.Paint(CautionNote(request.objective()), Style::kDim), "\n");
  }
  const v1::Layout& best = result.plans(0).layout().sizes();
  absl::StrAppend(&context.out, "the first as a launch: flightplan resolve with the same flags and ");
  // The batch, too: what is not given grows with the GPUs.
  if (LeavesGpus(request, result.plans(0))) {
    absl::StrAppend(&context.out, "--gpus ", GpusOf(result.plans(0)), " --gbs ", base.workload().global_batch_size(),
                    " ");
  }
  absl::StrAppend(&context.out, "--tp ", best.tensor_model_parallel_size(), " --pp ",
                  best.pipeline_model_parallel_size(), " --vpp ",
                  std::max(1, best.virtual_pipeline_model_parallel_size()), " --cp ", best.context_parallel_size());
  if (result.plans(0).model().num_moe_experts() > 0) {
    absl::StrAppend(&context.out, " --ep ", best.expert_model_parallel_size(), " --etp ",
                    best.expert_tensor_parallel_size());
  }
  absl::StrAppend(&context.out, " --mbs ", best.micro_batch_size());
  // Which layers each stage has is a part of the plan: without it the stages would be cut evenly.
  if (const std::string& split = best.pipeline_model_parallel_layout(); !split.empty())
    absl::StrAppend(&context.out, " --pipeline-layout '", terminal.Shown(split), "'");
  if (request.objective() == v1::PLAN_OBJECTIVE_MEMORY_HEADROOM) context.out += ExecutionFlags(result.plans(0));
  context.out += "\n";
}

}  // namespace

int RunPlan(Arguments args, Context& context) {
  ResolveOptions options;
  PlanOptions plan;
  BackendOptions where;
  const CommandLine command = Describe(&options, &plan, &where);
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  options.read = ReaderOf(context);
  v1::PlanLayoutsRequest request;
  if (const absl::Status status = BuildResolveRequest(options, request.mutable_base()); !status.ok()) {
    return Misuse(command, status.message(), context);
  }
  if (plan.top.has_value()) request.set_plan_count(static_cast<int32_t>(std::min<int64_t>(*plan.top, 1000)));
  request.set_objective(ValueOf(kObjectives, plan.objective));
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);
  v1::PlanResult result;
  {
    ProgressLine line;
    const absl::Status status = (*backend)->PlanLayouts(
        request,
        [&](const v1::PlanProgress& progress) {
          if (line.shown()) line.Show(ProgressText(progress));
          return context.host == nullptr || !context.host->progress || context.host->progress(progress);
        },
        &result);
    if (!status.ok()) return Failed(command, status, context);
  }
  Answered(result, context);
  if (plan.format == "json") {
    context.out += ToJson(result);
  } else if (plan.format == "html") {
    Context plain;
    PrintPage(request, result, plain);
    context.out += RenderReport({.command = "plan",
                                 .line = LineOf("plan", args),
                                 .text = plain.out,
                                 .calls = {Recorded("ResolverService/PlanLayouts", request, result)}});
  } else {
    PrintPage(request, result, context);
  }
  return result.plans_size() == 0 ? kExitFindings : kExitOk;
}

}  // namespace flightplan::cli
