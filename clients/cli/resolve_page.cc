#include "clients/cli/resolve_page.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/ab_part.h"
#include "clients/cli/decisions_part.h"
#include "clients/cli/findings.h"
#include "clients/cli/fit_line.h"
#include "clients/cli/forecast_part.h"
#include "clients/cli/forecast_text.h"
#include "clients/cli/labelled_lines.h"
#include "clients/cli/log_part.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"
#include "clients/cli/words.h"

namespace flightplan::cli {
namespace {

constexpr size_t kShownRevision = 12;

std::string YesNo(bool yes, const Terminal& terminal) {
  return terminal.Paint(yes ? "yes" : "no", yes ? Style::kGreen : Style::kRed);
}

std::string ModelText(const v1::ModelSpec& model) {
  std::string name = model.name().empty() ? "model" : model.name();
  const v1::ParameterCounts& counts = model.parameters();
  if (counts.total_count() == 0) return name;
  absl::StrAppend(&name, ", ", ParameterText(counts.total_count()));
  if (counts.active_count() != 0 && counts.active_count() != counts.total_count()) {
    absl::StrAppend(&name, " (", ParameterText(counts.active_count()), " active)");
  }
  return name;
}

std::string GpuText(const ResolvePage& page, const Terminal& terminal) {
  const v1::Hardware& hardware = page.request.hardware();
  const int domain = hardware.fabric().has_nvlink_domain_gpu_count() ? hardware.fabric().nvlink_domain_gpu_count()
                                                                     : page.gpu.nvlink_domain_gpu_count();
  return absl::StrCat(WithThousands(hardware.gpu_count()), terminal.times(),
                      page.gpu.name().empty() ? hardware.gpu() : page.gpu.name(),
                      domain > 1 ? absl::StrCat(" (", domain, " per NVLink domain)") : "");
}

std::string Head(const ResolvePage& page, const Terminal& terminal) {
  const bool resolved = page.response.outcome() == v1::OUTCOME_RESOLVED;
  const absl::string_view outcome = resolved ? "RESOLVED" : "INFEASIBLE";
  std::string stack = page.response.target();
  if (page.request.software().has_te_version()) absl::StrAppend(&stack, ", TE ", page.request.software().te_version());
  const std::string text =
      terminal.Shown(absl::StrCat(ModelText(page.response.model()), ", on ", GpuText(page, terminal), ", ", stack));
  const std::string painted = terminal.Paint(outcome, resolved ? Style::kGreen : Style::kRed);
  const int room = terminal.width - DisplayWidth(text) - static_cast<int>(outcome.size());
  if (room < 2) return absl::StrCat(terminal.Paint(text, Style::kBold), "\n", painted, "\n");
  return absl::StrCat(terminal.Paint(text, Style::kBold), std::string(static_cast<size_t>(room), ' '), painted, "\n");
}

std::string Verdicts(const ResolvePage& page, const Terminal& terminal) {
  const v1::ResolveConfigResponse& response = page.response;
  std::vector<std::string> parts = {
      absl::StrCat("accepted by the stack  ", YesNo(response.accepted_by_stack(), terminal)),
      absl::StrCat("will run  ", YesNo(response.will_run(), terminal)),
      absl::StrCat("fits  ", FitLine(response.estimate(), terminal))};
  if (response.estimate().has_step_time_us()) {
    parts.push_back(absl::StrCat("step  ", StepText(response.estimate().step_time_us())));
  }
  if (std::string speed = SpeedText(response.estimate()); !speed.empty()) parts.push_back(std::move(speed));
  return absl::StrCat(absl::StrJoin(WrapParts(parts, kPartGap, terminal.width), "\n"), "\n");
}

std::string LayoutLine(const ResolvePage& page, const Terminal& terminal) {
  const v1::ResolvedLayout& layout = page.response.layout();
  const v1::Layout& sizes = layout.sizes();
  const std::string pipeline = absl::StrCat("PP", sizes.pipeline_model_parallel_size());
  std::vector<std::string> dense = {absl::StrCat("TP", sizes.tensor_model_parallel_size()),
                                    absl::StrCat("CP", sizes.context_parallel_size())};
  if (layout.data_parallel_size() > 0) dense.push_back(absl::StrCat("DP", layout.data_parallel_size()));
  dense.push_back(pipeline);
  std::vector<std::string> parts = {absl::StrCat("dense ", absl::StrJoin(dense, terminal.times()))};
  // Where a layout string places the layers, the interleaving is in the string; what was asked for is shown.
  const int vpp = std::max(sizes.virtual_pipeline_model_parallel_size(),
                           page.request.layout().virtual_pipeline_model_parallel_size());
  if (vpp > 1) absl::StrAppend(&parts[0], " (VPP ", vpp, ")");
  if (page.response.model().has_num_moe_experts()) {
    std::string experts = absl::StrJoin({absl::StrCat("ETP", sizes.expert_tensor_parallel_size()),
                                         absl::StrCat("EP", sizes.expert_model_parallel_size()),
                                         absl::StrCat("EDP", layout.expert_data_parallel_size()), pipeline},
                                        terminal.times());
    if (layout.ep_domain_count() > 1) absl::StrAppend(&experts, " over ", layout.ep_domain_count(), " NVLink domains");
    parts.push_back(absl::StrCat("experts ", experts));
  }
  if (layout.data_parallel_size() <= 0) {
    parts.push_back(absl::StrCat("does not divide ", WithThousands(page.request.hardware().gpu_count()), " GPUs"));
  } else {
    parts.push_back(absl::StrCat(WithThousands(layout.microbatch_count()),
                                 layout.microbatch_count() == 1 ? " microbatch of " : " microbatches of ",
                                 sizes.micro_batch_size()));
  }
  return Lines("layout", parts, kPartGap, terminal);
}

constexpr Word<v1::ConfigOrigin> kOrigins[] = {{"default", v1::CONFIG_ORIGIN_DEFAULT},
                                               {"model", v1::CONFIG_ORIGIN_MODEL},
                                               {"you", v1::CONFIG_ORIGIN_CALLER},
                                               {"decided", v1::CONFIG_ORIGIN_DECIDED},
                                               {"stack", v1::CONFIG_ORIGIN_UPSTREAM}};

std::string ConfigPart(const ResolvePage& page, const Terminal& terminal) {
  Table table({{.min_width = 20, .shrink = true},
               {.max_width = 40, .min_width = 10, .shrink = true},
               {},
               {.min_width = 10, .shrink = true}});
  for (const v1::ConfigEntry& entry : page.response.config()) {
    table.Row({Cell(entry.name()), Cell(ValueText(entry.value()), Style::kGreen),
               Cell(WordFor(kOrigins, entry.origin()), Style::kDim), Cell(entry.spelling(), Style::kDim)});
  }
  return absl::StrCat(Label("config", terminal), page.response.config_size(),
                      " knobs that are written or that the stack sets\n", table.Render(terminal));
}

std::string FindingsPart(const ResolvePage& page, bool verbose, const Terminal& terminal) {
  if (page.response.findings().empty()) return "";
  return absl::StrCat(Label("findings", terminal), CountText(page.response.findings(), 0), "\n",
                      FindingsText(page.response.findings(), FlagSpelling(page.response.config()), verbose, terminal));
}

std::string ChangesPart(const ResolvePage& page, bool all, const Terminal& terminal) {
  const int count = page.response.effective_changes_size();
  if (count == 0) return "";
  return absl::StrCat(Label("changes", terminal), "the stack will change ", count, count == 1 ? " value" : " values",
                      " by itself\n", ChangesText(page.response.effective_changes(), all, terminal));
}

std::string Foot(const ResolvePage& page, const Terminal& terminal) {
  std::string out;
  if (page.response.outcome() == v1::OUTCOME_RESOLVED) {
    out += Line("launch", "the same with --format argv (one argument a line), env --export, yaml, json", terminal);
    if (page.response.launches_size() > 0) out += StillNeeded(page.response.launches(0), terminal);
    const std::vector<const v1::Decision*> decisions = ByImportance(page.response);
    if (!decisions.empty()) out += Line("why", absl::StrCat("flightplan explain ", decisions[0]->name()), terminal);
  }
  if (page.response.ab_suggestions_size() > 0) {
    out += Line("A/B", absl::StrCat(page.response.ab_suggestions_size(), " open; both commands: --show ab"), terminal);
  }
  return out + Line("digest",
                    absl::StrCat(page.response.digest(), "   catalogue ",
                                 page.response.catalog_revision().substr(0, kShownRevision), ", evidence ",
                                 page.response.evidence_revision()),
                    terminal);
}

}  // namespace

std::string RenderResolvePage(const ResolvePage& page, const Terminal& terminal) {
  std::string out = absl::StrCat(Head(page, terminal), Verdicts(page, terminal), "\n", LayoutLine(page, terminal));
  if (!page.assumed.empty()) out += Line("assumed", absl::StrJoin(page.assumed, ", "), terminal);
  absl::StrAppend(&out, MemoryBar(page.response.estimate(), terminal), Walls(page.response.estimate(), terminal));
  // Of an infeasible plan the faults matter more than what was decided.
  const bool resolved = page.response.outcome() == v1::OUTCOME_RESOLVED;
  std::vector<std::string> parts = {DecisionsPart(page.response, page.verbose, page.verbose, terminal),
                                    FindingsPart(page, page.verbose, terminal),
                                    ChangesPart(page, page.verbose, terminal)};
  if (!resolved) std::swap(parts[0], parts[1]);
  for (const std::string& part : parts) {
    if (!part.empty()) absl::StrAppend(&out, "\n", part);
  }
  return absl::StrCat(out, "\n", Foot(page, terminal));
}

std::vector<absl::string_view> ResolveParts() {
  return {"ab", "changes", "config", "decisions", "findings", "layout", "log", "memory"};
}

std::string RenderResolvePart(const ResolvePage& page, absl::string_view part, const Terminal& terminal) {
  if (part == "ab") return AbPart(page.response, terminal);
  if (part == "changes") return ChangesPart(page, true, terminal);
  if (part == "config") return ConfigPart(page, terminal);
  if (part == "decisions") return DecisionsPart(page.response, true, page.verbose, terminal);
  if (part == "findings") return FindingsPart(page, true, terminal);
  if (part == "layout") return LayoutLine(page, terminal);
  if (part == "log") return LogPart(page.response, page.request.target().framework(), terminal);
  if (part == "memory") return MemoryPart(page.response.estimate(), terminal);
  return "";
}

}  // namespace flightplan::cli
