#include "clients/cli/resolve_page.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/findings.h"
#include "clients/cli/forecast_text.h"
#include "clients/cli/log_part.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"
#include "clients/cli/words.h"

namespace flightplan::cli {
namespace {

constexpr size_t kShownDecisions = 10;
constexpr int kLabelWidth = 12;
constexpr size_t kShownRevision = 12;
constexpr int kBarWidth = 40;
constexpr absl::string_view kPartGap = "     ";

std::string Label(absl::string_view label, const Terminal& terminal) {
  const int room = kLabelWidth - DisplayWidth(label);
  return absl::StrCat(terminal.Paint(label, Style::kBold), std::string(static_cast<size_t>(std::max(1, room)), ' '));
}

// Labelled lines of parts that stay whole.
std::string Lines(absl::string_view label, const std::vector<std::string>& parts, absl::string_view separator,
                  const Terminal& terminal) {
  std::string out;
  for (const std::string& line : WrapParts(parts, separator, terminal.width - kLabelWidth)) {
    absl::StrAppend(&out, out.empty() ? Label(label, terminal) : std::string(kLabelWidth, ' '), line, "\n");
  }
  return out;
}

// A labelled sentence; what is too long goes on below itself.
std::string Line(absl::string_view label, absl::string_view text, const Terminal& terminal) {
  return Lines(label, {terminal.Shown(text)}, "", terminal);
}

std::string YesNo(bool yes, const Terminal& terminal) {
  return terminal.Paint(yes ? "yes" : "no", yes ? Style::kGreen : Style::kRed);
}

// ---- the head

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

const v1::StageMemory* WorstStage(const v1::Estimate& estimate) {
  const v1::StageMemory* worst = nullptr;
  for (const v1::StageMemory& stage : estimate.stages()) {
    if (worst == nullptr || stage.total_bytes().value() > worst->total_bytes().value()) worst = &stage;
  }
  return worst;
}

constexpr Word<v1::FitVerdict> kFits[] = {
    {"yes", v1::FIT_VERDICT_FITS}, {"marginal", v1::FIT_VERDICT_MARGINAL}, {"no", v1::FIT_VERDICT_DOES_NOT_FIT}};

Style FitStyle(v1::FitVerdict fit) {
  if (fit == v1::FIT_VERDICT_FITS) return Style::kGreen;
  return fit == v1::FIT_VERDICT_DOES_NOT_FIT ? Style::kRed : Style::kYellow;
}

std::string FitText(const v1::Estimate& estimate, const Terminal& terminal) {
  const v1::StageMemory* worst = WorstStage(estimate);
  const absl::string_view word = WordFor(kFits, estimate.fit());
  std::string verdict = terminal.Paint(word.empty() ? "unknown" : word, FitStyle(estimate.fit()));
  if (worst == nullptr) return verdict;
  const v1::Range& total = worst->total_bytes();
  absl::StrAppend(&verdict, ": ", GibNumber(total.value()), " GiB");
  if (estimate.usable_bytes() > 0)
    absl::StrAppend(&verdict, " of ", GibNumber(static_cast<double>(estimate.usable_bytes())));
  if (estimate.reserved_bytes() > 0) {
    absl::StrAppend(&verdict, " beside ", GibNumber(static_cast<double>(estimate.reserved_bytes())), " of others");
  }
  if (total.low() > 0 && total.high() > total.low()) {
    absl::StrAppend(&verdict, " (", GibNumber(total.low()), "..", GibNumber(total.high()), ")");
  }
  return absl::StrCat(verdict, ", stage ", worst->stage());
}

std::string Verdicts(const ResolvePage& page, const Terminal& terminal) {
  const v1::ResolveConfigResponse& response = page.response;
  std::vector<std::string> parts = {
      absl::StrCat("accepted by the stack  ", YesNo(response.accepted_by_stack(), terminal)),
      absl::StrCat("will run  ", YesNo(response.will_run(), terminal)),
      absl::StrCat("fits  ", FitText(response.estimate(), terminal))};
  if (response.estimate().has_step_time_us()) {
    parts.push_back(absl::StrCat("step  ", StepText(response.estimate().step_time_us())));
  }
  if (std::string speed = SpeedText(response.estimate()); !speed.empty()) parts.push_back(std::move(speed));
  return absl::StrCat(absl::StrJoin(WrapParts(parts, kPartGap, terminal.width), "\n"), "\n");
}

// ---- layout and memory

std::string LayoutLine(const ResolvePage& page, const Terminal& terminal) {
  const v1::ResolvedLayout& layout = page.response.layout();
  const v1::Layout& sizes = layout.sizes();
  const std::string pipeline = absl::StrCat("PP", sizes.pipeline_model_parallel_size());
  std::vector<std::string> parts = {
      absl::StrCat("dense ", absl::StrJoin({absl::StrCat("TP", sizes.tensor_model_parallel_size()),
                                            absl::StrCat("CP", sizes.context_parallel_size()),
                                            absl::StrCat("DP", layout.data_parallel_size()), pipeline},
                                           terminal.times()))};
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
  parts.push_back(absl::StrCat(WithThousands(layout.microbatch_count()),
                               layout.microbatch_count() == 1 ? " microbatch of " : " microbatches of ",
                               sizes.micro_batch_size()));
  return Lines("layout", parts, kPartGap, terminal);
}

std::string Repeat(absl::string_view glyph, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) absl::StrAppend(&out, glyph);
  return out;
}

std::string PartName(absl::string_view name) { return absl::StrReplaceAll(name, {{"_", " "}}); }

// Cells of a bar for a share of it; what is there is seen.
int BarCells(double share) { return share <= 0 ? 0 : std::max(1, static_cast<int>(std::lround(share * kBarWidth))); }

// The parts that a bar shows: all kept activations as one, and what would not fill a cell as the rest.
std::vector<std::pair<std::string, double>> BarParts(const v1::StageMemory& stage, double full) {
  std::vector<std::pair<std::string, double>> bars;
  double activations = 0, rest = 0;
  for (const v1::MemoryPart& part : stage.parts()) {
    const double bytes = static_cast<double>(part.part_bytes());
    if (absl::EndsWith(part.name(), "_activations")) {
      if (activations == 0) bars.emplace_back("activations", 0);
      activations += bytes;
    } else if (bytes * kBarWidth < full) {
      rest += bytes;
    } else {
      bars.emplace_back(PartName(part.name()), bytes);
    }
  }
  for (auto& [name, bytes] : bars) {
    if (name == "activations") bytes = activations;
  }
  if (rest > 0) bars.emplace_back("rest", rest);
  return bars;
}

// The worst stage's memory: a bar to scale, then the parts. The free rest is shaded.
std::string MemoryBar(const v1::Estimate& estimate, const Terminal& terminal) {
  const v1::StageMemory* worst = WorstStage(estimate);
  if (worst == nullptr) return "";
  const double usable = static_cast<double>(estimate.usable_bytes());
  const double full = std::max(usable, worst->total_bytes().value());
  std::vector<std::string> parts;
  for (const auto& [name, bytes] : BarParts(*worst, full)) {
    if (bytes <= 0) continue;
    parts.push_back(absl::StrCat(Repeat(terminal.block(), BarCells(bytes / full)), " ", name, " ", GibNumber(bytes)));
  }
  const double free = usable - worst->total_bytes().value();
  if (free > 0) {
    parts.push_back(absl::StrCat(Repeat(terminal.shade(), BarCells(free / full)), " free ", GibNumber(free)));
  }
  parts.emplace_back("GiB");
  std::string out = Lines("memory", parts, "  ", terminal);
  if (worst->has_allocated_bytes()) {
    const auto range = [](const v1::Range& r) {
      return absl::StrCat(GibNumber(r.value()), " (", GibNumber(r.low()), "..", GibNumber(r.high()), ")");
    };
    std::string shown = absl::StrCat("allocated ", range(worst->allocated_bytes()));
    // What runs out of memory is seen by nobody.
    const bool seen = worst->has_device_bytes() && estimate.fit() != v1::FIT_VERDICT_DOES_NOT_FIT;
    if (seen) absl::StrAppend(&shown, ", nvidia-smi will show ", range(worst->device_bytes()));
    out += Line("", shown, terminal);
    // The free part of the bar is more than that leaves.
    constexpr double kRead = 1 << 30;
    if (seen && worst->device_bytes().value() > worst->total_bytes().value() + kRead) {
      out += Line("", "(that counts blocks which PyTorch keeps for reuse, so it leaves less free)", terminal);
    }
  }
  if (!estimate.scope().empty()) out += Line("", absl::StrCat("counts ", estimate.scope()), terminal);
  return out;
}

std::string Walls(const v1::Estimate& estimate, const Terminal& terminal) {
  std::vector<std::pair<double, std::string>> walls;
  for (const auto& [name, ratio] : estimate.wall_ratios()) walls.emplace_back(-ratio, name);
  std::sort(walls.begin(), walls.end());
  std::vector<std::string> parts;
  parts.reserve(walls.size());
  for (const auto& [ratio, name] : walls) {
    parts.push_back(absl::StrCat(name, " ", PercentText(-ratio), " ", Repeat(terminal.block(), BarCells(-ratio / 2))));
  }
  std::string out = Lines("walls", parts, "   ", terminal);
  out += Lines("exposed", CommunicationTexts(estimate), kPartGap, terminal);
  if (!estimate.unmeasured_terms().empty()) {
    out +=
        Line("", absl::StrCat("terms without evidence: ", absl::StrJoin(estimate.unmeasured_terms(), ", ")), terminal);
  }
  return out;
}

// "3", or "1-6" where neighbours are equal.
std::string StagesText(const v1::StageMemory& stage) {
  if (stage.last_stage_index() <= stage.stage()) return absl::StrCat(stage.stage());
  return absl::StrCat(stage.stage(), "-", stage.last_stage_index());
}

// Every stage, every part; a stage that lacks a part shows a gap.
std::string MemoryPart(const ResolvePage& page, const Terminal& terminal) {
  const v1::Estimate& estimate = page.response.estimate();
  if (estimate.stages().empty()) return "";
  std::vector<std::string> names;
  for (const v1::StageMemory& stage : estimate.stages()) {
    for (const v1::MemoryPart& part : stage.parts()) {
      if (std::find(names.begin(), names.end(), part.name()) == names.end()) names.push_back(part.name());
    }
  }
  std::vector<Cell> head = {Cell("stage", Style::kDim)};
  for (const std::string& name : names) head.emplace_back(PartName(name), Style::kDim);
  head.emplace_back("total", Style::kDim);
  Table table(std::vector<Column>(head.size(), Column{.right = true}));
  table.Row(head);
  for (const v1::StageMemory& stage : estimate.stages()) {
    std::vector<Cell> row(names.size() + 2, Cell(""));
    row[0].text = StagesText(stage);
    for (const v1::MemoryPart& part : stage.parts()) {
      const auto at = std::find(names.begin(), names.end(), part.name()) - names.begin();
      row[static_cast<size_t>(at) + 1].text = GibNumber(static_cast<double>(part.part_bytes()));
    }
    row.back() = Cell(GibNumber(stage.total_bytes().value()), Style::kBold);
    table.Row(row);
  }
  std::string out = absl::StrCat(Label("memory", terminal), "GiB by pipeline stage\n", table.Render(terminal));
  if (!estimate.scope().empty()) absl::StrAppend(&out, "  counts ", terminal.Shown(estimate.scope()), "\n");
  return out;
}

// ---- decisions

constexpr Word<v1::Basis> kBases[] = {{"measurement", v1::BASIS_MEASURED}, {"recipe", v1::BASIS_RECIPES},
                                      {"estimate", v1::BASIS_ESTIMATE},    {"rule", v1::BASIS_RULE},
                                      {"guidance", v1::BASIS_GUIDANCE},    {"your word", v1::BASIS_CALLER}};

std::string BasisText(const v1::Decision& decision) {
  const absl::string_view word = WordFor(kBases, decision.basis());
  const int cited = decision.citations_size();
  const bool counted = decision.basis() == v1::BASIS_MEASURED || decision.basis() == v1::BASIS_RECIPES;
  return counted && cited > 0 ? absl::StrCat(cited, " ", word, cited == 1 ? "" : "s") : std::string(word);
}

// Open questions first, then knobs that had another candidate, then those that evidence or an estimate chose, the other
// knobs, the variables; the caller's own words last, for she knows them. Within a rank the resolver's order, by topic.
int Rank(const v1::Decision& decision) {
  if (decision.needs_ab()) return 0;
  if (decision.basis() == v1::BASIS_CALLER) return 5;
  if (absl::StartsWith(decision.name(), "env.")) return 4;
  if (!decision.alternatives().empty()) return 1;
  const bool weighed = decision.basis() == v1::BASIS_MEASURED || decision.basis() == v1::BASIS_RECIPES ||
                       decision.basis() == v1::BASIS_ESTIMATE;
  return weighed ? 2 : 3;
}

std::vector<const v1::Decision*> ByImportance(const v1::ResolveConfigResponse& response) {
  std::vector<const v1::Decision*> decisions;
  for (const v1::Decision& decision : response.decisions()) decisions.push_back(&decision);
  std::stable_sort(decisions.begin(), decisions.end(),
                   [](const auto* a, const auto* b) { return Rank(*a) < Rank(*b); });
  return decisions;
}

std::string ReasonText(const v1::Decision& decision) {
  if (!decision.has_expected_step_ratio()) return decision.reason();
  return absl::StrCat(decision.reason(), " (step ", decision.expected_step_ratio() > 0 ? "+" : "",
                      PercentText(decision.expected_step_ratio()), ")");
}

std::string Decisions(const ResolvePage& page, bool all, const Terminal& terminal) {
  const std::vector<const v1::Decision*> decisions = ByImportance(page.response);
  if (decisions.empty()) return "";
  Table table({{.max_width = 44, .min_width = 20, .shrink = true},
               {.max_width = 24, .min_width = 8, .shrink = true},
               {.min_width = 24, .max_lines = all ? 0 : 3, .shrink = true},
               {.max_width = 24}});
  table.Row({Cell("decided", Style::kBold), Cell(""), Cell("because", Style::kDim), Cell("rests on", Style::kDim)});
  size_t shown = 0;
  for (const v1::Decision* decision : decisions) {
    if (!all && shown == kShownDecisions) break;
    ++shown;
    const std::string rests = decision->needs_ab() ? "needs an A/B" : BasisText(*decision);
    table.Row({Cell(decision->name()), Cell(ValueText(decision->value()), Style::kGreen), Cell(ReasonText(*decision)),
               Cell(rests, decision->needs_ab() ? Style::kYellow : Style::kDim)});
    if (!page.verbose) continue;
    for (const v1::Alternative& other : decision->alternatives()) {
      table.Row({Cell(""), Cell(""),
                 Cell(absl::StrCat("not ", ValueText(other.value()), ": ", other.reason()), Style::kDim), Cell("")});
    }
    for (const v1::Citation& citation : decision->citations()) {
      table.Row({Cell(""), Cell(""), Cell(citation.text(), Style::kDim), Cell("")});
    }
  }
  std::string out = table.Render(terminal);
  if (shown < decisions.size()) {
    const std::string more = absl::StrCat("(", decisions.size() - shown, " more: --verbose)");
    absl::StrAppend(&out,
                    std::string(static_cast<size_t>(std::max(2, terminal.width - static_cast<int>(more.size()))), ' '),
                    terminal.Paint(more, Style::kDim), "\n");
  }
  return out;
}

// ---- the other parts

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

// The A side of a suggestion, which the answer carries once.
const v1::Launch& PlanLaunch(const v1::AbSuggestion& ab, const v1::ResolveConfigResponse& response) {
  return ab.has_plan_launch() || response.launches().empty() ? ab.plan_launch() : response.launches(0);
}

std::string AbPart(const ResolvePage& page, const Terminal& terminal) {
  if (page.response.ab_suggestions().empty())
    return Line("A/B", "the evidence settles every knob; none to run", terminal);
  std::string out;
  for (const v1::AbSuggestion& ab : page.response.ab_suggestions()) {
    std::string head = absl::StrCat(ab.knob(), ": ", ValueText(ab.plan_value()), " (A, this plan) or ",
                                    ValueText(ab.other_value()), " (B)");
    if (ab.has_expected_step_ratio()) {
      const v1::Range& ratio = ab.expected_step_ratio();
      absl::StrAppend(&head, ", step ", PercentText(ratio.value()), " (", PercentText(ratio.low()), "..",
                      PercentText(ratio.high()), ")");
    }
    absl::StrAppend(&out, out.empty() ? "" : "\n", terminal.Paint(terminal.Shown(head), Style::kBold), "\n");
    out += Line("why", ab.reason(), terminal);
    if (!ab.companions().empty()) {
      std::vector<std::string> with;
      for (const v1::KnobSetting& knob : ab.companions())
        with.push_back(absl::StrCat(knob.name(), "=", ValueText(knob.value())));
      out += Line("B needs", absl::StrJoin(with, ", "), terminal);
    }
    absl::StrAppend(&out, "\n# A\n", terminal.ShownLines(PlanLaunch(ab, page.response).text()), "\n# B\n",
                    terminal.ShownLines(ab.other_launch().text()), "\n");
  }
  return out;
}

std::string FindingsPart(const ResolvePage& page, bool verbose, const Terminal& terminal) {
  if (page.response.findings().empty()) return "";
  return absl::StrCat(Label("findings", terminal), CountText(page.response.findings(), 0), "\n",
                      FindingsText(page.response.findings(), FlagSpelling(), verbose, terminal));
}

std::string ChangesPart(const ResolvePage& page, bool all, const Terminal& terminal) {
  const int count = page.response.effective_changes_size();
  if (count == 0) return "";
  return absl::StrCat(Label("changes", terminal), "the stack will change ", count, count == 1 ? " value" : " values",
                      " by itself\n", ChangesText(page.response.effective_changes(), all, terminal));
}

// What a person adds to the launch: without it nothing starts, or something is lost.
std::string StillNeeded(const v1::Launch& launch, const Terminal& terminal) {
  std::vector<std::string> parts;
  for (const v1::RequiredInput& input : launch.required_inputs()) {
    std::string part = input.spelling();
    if (!input.without().empty()) absl::StrAppend(&part, " (without: ", input.without(), ")");
    parts.push_back(terminal.Shown(part));
  }
  return Lines("still needs", parts, kPartGap, terminal);
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
  std::vector<std::string> parts = {Decisions(page, page.verbose, terminal), FindingsPart(page, page.verbose, terminal),
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
  if (part == "ab") return AbPart(page, terminal);
  if (part == "changes") return ChangesPart(page, true, terminal);
  if (part == "config") return ConfigPart(page, terminal);
  if (part == "decisions") return Decisions(page, true, terminal);
  if (part == "findings") return FindingsPart(page, true, terminal);
  if (part == "layout") return LayoutLine(page, terminal);
  if (part == "log") return LogPart(page.response, page.request.target().framework(), terminal);
  if (part == "memory") return MemoryPart(page, terminal);
  return "";
}

std::string FitLine(const v1::Estimate& estimate, const Terminal& terminal) { return FitText(estimate, terminal); }

std::string FitLine(const v1::MemoryVerdict& memory, const Terminal& terminal) {
  const absl::string_view word = WordFor(kFits, memory.fit());
  std::string line = terminal.Paint(word.empty() ? "unknown" : word, FitStyle(memory.fit()));
  if (memory.at_least_bytes() > 0) {
    absl::StrAppend(&line, ": at least ", GibNumber(static_cast<double>(memory.at_least_bytes())), " GiB of ",
                    GibNumber(static_cast<double>(memory.usable_bytes())), " by parameters and optimizer alone");
  }
  const std::string& missing = memory.missing_input();
  if (missing.empty()) return line;
  const std::string flag = missing == "hardware.gpu"              ? "--gpu NAME"
                           : missing == "hardware.gpu_count"      ? "--gpus N"
                           : missing == "hardware.reserved_bytes" ? "--reserved-memory-gib X"
                                                                  : absl::StrCat("--set ", missing, "=N");
  return absl::StrCat(line, memory.at_least_bytes() > 0 ? "; " : ": ", "say ", terminal.Shown(flag));
}

}  // namespace flightplan::cli
