#include "clients/cli/probe_figures.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "resolver/normalize/profile_message.h"
#include "resolver/normalize/violations.h"

namespace flightplan::cli {
namespace {

// Three significant digits with a prefix: 4.07e12 -> "4.07 T".
std::string Prefixed(double value) {
  constexpr struct {
    double unit;
    const char* prefix;
  } kPrefixes[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& row : kPrefixes) {
    if (std::fabs(value) >= row.unit) return absl::StrFormat("%.3g %s", value / row.unit, row.prefix);
  }
  return absl::StrFormat("%.3g ", value);
}

std::string Size(double value) {
  for (const auto& [unit, name] : {std::pair<double, const char*>{1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}}) {
    if (value >= unit && std::fmod(value, unit) == 0) return absl::StrFormat("%g %s", value / unit, name);
  }
  return value >= 1e6 ? Prefixed(value) : absl::StrFormat("%g", value);
}

double RateOf(const FittedProfile& fitted, absl::string_view id) {
  const FittedFigure* figure = fitted.Figure(id);
  return figure == nullptr ? 0 : figure->value;
}

}  // namespace

std::string ProbeValue(const v1::ProbeRow& row) {
  if (row.unit() == "bytes_per_second") return absl::StrCat(Prefixed(row.value()), "B/s");
  if (row.unit() == "flops_per_second") return absl::StrCat(Prefixed(row.value()), "FLOP/s");
  if (row.unit() == "us") {
    return row.value() >= 1e3 ? absl::StrFormat("%.3g ms", row.value() / 1e3) : absl::StrFormat("%.3g us", row.value());
  }
  return absl::StrFormat("%.3f", row.value());
}

std::string ProbeSpread(const v1::ProbeRow& row) {
  if (!(row.value() > 0) || row.sample_count() < 2) return "";
  return absl::StrFormat("%.1f %%", 50 * (row.high() - row.low()) / row.value());
}

std::string ProbeParameters(const v1::ProbeRow& row) {
  std::vector<std::string> parts;
  const std::map<std::string, std::string> labels(row.labels().begin(), row.labels().end());
  const std::map<std::string, double> parameters(row.parameters().begin(), row.parameters().end());
  for (const auto& [name, value] : labels) {
    if (name == "compute" && labels.count("communication") > 0) continue;
    parts.push_back(name == "communication"
                        ? absl::StrCat(value, " beside ", labels.count("compute") ? labels.at("compute") : "?")
                    : name == "side" ? absl::StrCat("the ", value, "'s")
                                     : value);
  }
  for (const auto& [name, value] : parameters) {
    if (name == "link_bytes_per_second") {
      parts.push_back(absl::StrCat("link ", Prefixed(value), "B/s"));
    } else {
      parts.push_back(absl::StrCat(name, " ", Size(value)));
    }
  }
  return absl::StrJoin(parts, ", ");
}

std::string ExchangeName(const FittedCorun& cell) {
  if (cell.link_bytes_per_second <= 0) return cell.communication;
  return absl::StrCat(cell.communication, " at ", Prefixed(cell.link_bytes_per_second), "B/s");
}

std::vector<std::string> ProbeConclusions(const FittedProfile& fitted) {
  std::vector<std::string> lines;
  if (const auto& curve = fitted.copy_by_sms; curve.has_value()) {
    lines.push_back(absl::StrFormat("copy: %sB/s a SM up to %sB/s; 90 %% of it from %.0f SMs on (fit within %.1f %%)",
                                    Prefixed(curve->slope), Prefixed(curve->ceiling), std::ceil(curve->Reaching(0.9)),
                                    100 * curve->error));
  }
  if (const auto& curve = fitted.fc1_by_rows; curve.has_value()) {
    const double dense = RateOf(fitted, "mm.dense");
    lines.push_back(absl::StrFormat(
        "experts: half of %sFLOP/s at %.0f rows of an expert%s (fit within %.1f %%)", Prefixed(curve->ceiling),
        curve->Reaching(0.5),
        dense > 0 ? absl::StrFormat("; the ceiling is %.0f %% of the dense product's", 100 * curve->ceiling / dense)
                  : std::string(),
        100 * curve->error));
  }
  for (const FittedExchange& exchange : fitted.exchanges) {
    lines.push_back(absl::StrFormat("%s over %s: %.0f GB/s leave a rank in a large exchange +- %.0f %%%s",
                                    std::string(exchange.row), exchange.inside_domain ? "NVLink" : "the network",
                                    1e-3 / exchange.us_per_byte, 100 * exchange.error,
                                    exchange.kind == RowKind::kImported ? ", imported" : ", between this node's GPUs"));
  }
  for (const FittedCorun& cell : fitted.corun) {
    if (cell.compute != "gemm") continue;
    const fit::Slowdown slow = cell.curve.At(20);
    lines.push_back(absl::StrFormat(
        "%s%s beside a GEMM on 20 SMs: co-run gain %.2f +- %.2f (GEMM %.2f, exchange %.2f times longer)",
        ExchangeName(cell), cell.kind == RowKind::kEmulated ? ", emulated," : "", slow.Gain(),
        cell.curve.GainError(20, cell.Error()), slow.compute, slow.communication));
  }
  double sequential = 0;
  for (const FittedPair& pair : fitted.pairs) {
    if (!pair.schedule.overlap) sequential = pair.measured_us;
    lines.push_back(
        absl::StrFormat("%s: %.0f us %s%s, %.0f us forecast from its parts (%+.1f %%)", std::string(pair.id),
                        pair.measured_us, pair.kind == RowKind::kEmulated ? "over an emulated link" : "measured",
                        pair.schedule.overlap && sequential > 0
                            ? absl::StrFormat(" (%+.0f %% against in turn)", 100 * (pair.measured_us / sequential - 1))
                            : std::string(),
                        pair.forecast_us, 100 * (pair.forecast_us / pair.measured_us - 1)));
  }
  return lines;
}

std::shared_ptr<const FittedProfile> FitMessage(const v1::HardwareProfile& profile) {
  Violations violations;
  return FitProfile(ProfileFromMessage(profile, "", &violations));
}

}  // namespace flightplan::cli
