#include "clients/cli/forecast_part.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/fit_line.h"
#include "clients/cli/forecast_text.h"
#include "clients/cli/labelled_lines.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"

namespace flightplan::cli {
namespace {

constexpr int kBarWidth = 40;

std::string Repeat(absl::string_view glyph, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) absl::StrAppend(&out, glyph);
  return out;
}

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

// "69 (56..90)".
std::string GibRange(const v1::Range& range) {
  return absl::StrCat(GibNumber(range.value()), " (", GibNumber(range.low()), "..", GibNumber(range.high()), ")");
}

// What PyTorch allocates of it, and what a device will show.
std::string DeviceLines(const v1::StageMemory& stage, const v1::Estimate& estimate, const Terminal& terminal) {
  if (!stage.has_allocated_bytes()) return "";
  std::string shown = absl::StrCat("allocated ", GibRange(stage.allocated_bytes()));
  // What runs out of memory is seen by nobody: a device shows no less than what is allocated on it.
  const bool seen = stage.has_device_bytes() && estimate.fit() != v1::FIT_VERDICT_DOES_NOT_FIT;
  if (seen) absl::StrAppend(&shown, ", nvidia-smi will show ", GibRange(stage.device_bytes()));
  std::string out = Line("", shown, terminal);
  // The free part of the bar is more than that leaves.
  constexpr double kRead = 1 << 30;
  if (seen && stage.device_bytes().value() > stage.total_bytes().value() + kRead) {
    out += Line("", "(that counts blocks which PyTorch keeps for reuse, so it leaves less free)", terminal);
  }
  return out;
}

// "3", or "1-6" where neighbours are equal.
std::string StagesText(const v1::StageMemory& stage) {
  if (stage.last_stage_index() <= stage.stage()) return absl::StrCat(stage.stage());
  return absl::StrCat(stage.stage(), "-", stage.last_stage_index());
}

std::string HostText(const v1::HostMemory& host) {
  const bool known = host.usable_bytes() > 0;
  return absl::StrCat("the optimizer keeps ", GibRange(host.node_bytes()), " GiB in a node's main memory",
                      known ? absl::StrCat(" of ", GibNumber(static_cast<double>(host.usable_bytes()))) : "",
                      ", beside its processes and data loaders", known ? "" : "; to judge it: --host-memory-gib X");
}

}  // namespace

std::string PartName(absl::string_view name) { return absl::StrReplaceAll(name, {{"_", " "}}); }

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
  out += DeviceLines(*worst, estimate, terminal);
  if (!estimate.scope().empty()) out += Line("", absl::StrCat("counts ", estimate.scope()), terminal);
  if (estimate.has_host()) out += Line("host", HostText(estimate.host()), terminal);
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

std::string MemoryPart(const v1::Estimate& estimate, const Terminal& terminal) {
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

}  // namespace flightplan::cli
