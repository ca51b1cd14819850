// evidence.jsonl: a row is a pair of runs that differ in one knob.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/evidence/forecast.h"
#include "tests/evidence/row_settings.h"
#include "tests/evidence/truth.h"
#include "tests/support/json_row.h"

namespace flightplan {
namespace {

struct Switch {
  absl::string_view knob;
  bool Candidate::*on;
};
constexpr Switch kSwitches[] = {{"moe_a2a_overlap", &Candidate::ep_overlap},
                                {"delay_wgrad", &Candidate::delay_wgrad},
                                {"tp_overlap", &Candidate::tp_overlap},
                                {"tp_comm_overlap", &Candidate::tp_overlap},
                                {"shared_expert_overlap", &Candidate::shared_expert_overlap},
                                {"moe_shared_expert_overlap", &Candidate::shared_expert_overlap},
                                {"overlap_grad_reduce", &Candidate::overlap_grad_reduce},
                                {"overlap_param_gather", &Candidate::overlap_param_gather},
                                {"moe_permute_fusion", &Candidate::permute_fusion},
                                {"moe_router_fusion", &Candidate::router_fusion},
                                {"sequence_parallel", &Candidate::sequence_parallel},
                                {"overlap_cpu_optimizer_d2h_h2d", &Candidate::overlap_optimizer_copies},
                                {"use_te_op_fuser", &Candidate::fused_grouped_mlp},
                                {"fp8_dot_product_attention", &Candidate::fp8_attention}};

struct Size {
  absl::string_view knob;
  int32_t Candidate::*size;
};
constexpr Size kSizes[] = {{"tp", &Candidate::tp}, {"pp", &Candidate::pp}, {"vp", &Candidate::vpp},
                           {"cp", &Candidate::cp}, {"ep", &Candidate::ep}, {"etp", &Candidate::etp}};

bool ApplyNumber(const std::string& knob, double number, Candidate* plan) {
  for (const Size& row : kSizes) {
    if (knob != row.knob) continue;
    plan->*row.size = static_cast<int32_t>(number);
    if (knob == "tp") plan->sequence_parallel = plan->tp > 1;
    return true;
  }
  if (knob == "mbs") return plan->micro_batch_size = static_cast<int32_t>(number), true;
  if (knob == "gbs") return plan->global_batch_size = static_cast<int64_t>(number), true;
  if (knob == "num_sms") return plan->num_sms = static_cast<uint16_t>(number), true;
  if (knob == "optimizer_cpu_offload_fraction") return plan->optimizer_offload = static_cast<float>(number), true;
  return false;
}

// "local(attn,mlp)".
bool ApplyGraphs(const std::string& text, Candidate* plan) {
  if (absl::StrContains(text, "packed")) return false;
  std::vector<std::string> scopes;
  std::string impl = text;
  if (const size_t open = text.find('('); open != std::string::npos) {
    impl = text.substr(0, open);
    const size_t close = text.find(')', open);
    scopes = absl::StrSplit(text.substr(open + 1, close - open - 1), ',');
  }
  return ReadGraphs(std::string(absl::StripAsciiWhitespace(impl)), scopes, plan), true;
}

// "8192/cp2".
bool ApplyLength(const std::string& text, Candidate* plan) {
  std::vector<std::string> parts = absl::StrSplit(text, "/cp");
  int64_t seq = 0, cp = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &seq) || !absl::SimpleAtoi(parts[1], &cp)) return false;
  plan->seq_length = seq;
  plan->cp = static_cast<int32_t>(cp);
  return true;
}

bool ApplyText(const std::string& knob, const std::string& text, Run* run) {
  Candidate& plan = run->plan;
  const bool on = text == "True" || text == "true" || text == "on";
  double number = 0;
  const bool numeric = absl::SimpleAtod(text, &number);
  for (const Switch& row : kSwitches) {
    if (knob == row.knob) return plan.*row.on = on, true;
  }
  if (numeric && ApplyNumber(knob, number, &plan)) return true;
  if (knob == "moe_a2a_overlap (+delay_wgrad)") return plan.ep_overlap = plan.delay_wgrad = on, true;
  if (knob == "fsdp") return plan.shard_weights = on || number > 0, true;
  if (knob == "moe_paged_stash") return true;
  if (knob == "cuda_graph_impl") return ApplyGraphs(text, &plan);
  if (knob == "seq+cp") return ApplyLength(text, &plan);
  if (knob == "dispatcher") {
    const auto backend = ReadBackend(text);
    // A transport of its own is another machine to the forecast.
    if (!backend.has_value() || absl::StrContains(text, "UCCL")) return false;
    return plan.dispatcher = *backend, true;
  }
  if (knob == "precision") {
    const auto precision = ReadPrecision(text);
    if (!precision.has_value()) return false;
    return plan.precision = *precision, true;
  }
  if (knob == "routing") {
    const bool balanced = absl::StartsWith(text, "forced") || absl::StartsWith(text, "token drop");
    return plan.imbalance = balanced ? 1.0F : 1.25F, true;
  }
  if (knob == "recompute_granularity") {
    plan.recompute = text == "full" ? RecomputeMode::kFullUniform : RecomputeMode::kNone;
    return text == "full" || text == "none" || text == "False";
  }
  return false;
}

// What one side of an A/B says. False: the knob or its value has no place in the forecast.
bool Apply(const std::string& knob, const Json& value, Run* run) {
  if (value.IsObject()) {
    bool all = true;
    for (const auto& member : value.GetObject()) all = Apply(member.name.GetString(), member.value, run) && all;
    return all;
  }
  if (value.IsArray()) {
    if (knob == "recompute_modules") return ReadRecompute(JsonStrings(value), &run->plan), true;
    if (knob == "cuda_graph_scope") {
      if (run->plan.graphs != GraphImpl::kFullIteration)
        ReadGraphs("transformer_engine", JsonStrings(value), &run->plan);
      return true;
    }
    return false;
  }
  if (value.IsNull()) return ApplyText(knob, "False", run);
  if (value.IsBool()) return ApplyText(knob, value.GetBool() ? "True" : "False", run);
  if (value.IsNumber()) return ApplyText(knob, absl::StrCat(value.GetDouble()), run);
  const std::string text = value.GetString();
  // "off+off" -> "on+on" of "a+b".
  const std::vector<std::string> knobs = absl::StrSplit(knob, '+'), values = absl::StrSplit(text, '+');
  if (knob != "seq+cp" && knobs.size() > 1 && knobs.size() == values.size()) {
    bool all = true;
    for (size_t i = 0; i < knobs.size(); ++i) all = ApplyText(knobs[i], values[i], run) && all;
    return all;
  }
  return ApplyText(knob, text, run);
}

bool HigherIsBetter(const std::string& metric) {
  return metric == "tokens_per_s_per_gpu" || metric == "tflops_per_gpu" || metric == "throughput";
}

double TimeUnit(const std::string& metric) { return metric == "step_time_ms" ? 1e3 : 1e6; }

bool IsTime(const std::string& metric) {
  return metric == "step_time_s" || metric == "step_time_ms" || metric == "step_time";
}

// A batch that the row does not state: the number of microbatches, at least one a stage, that brings the forecast
// nearest to the first run's time; sixteen without one.
int64_t GuessBatch(const Run& run, double from_us) {
  const Candidate& plan = run.plan;
  const int64_t one = std::max<int64_t>(1, plan.micro_batch_size * plan.gpus / (int64_t{plan.tp} * plan.cp * plan.pp));
  if (from_us <= 0) return 16 * one;
  int64_t best = one * plan.pp;
  double nearest = 1e18;
  for (int64_t microbatches = plan.pp; microbatches <= int64_t{64} * plan.pp;
       microbatches += std::max<int64_t>(1, microbatches / 4)) {
    Candidate trial = plan;
    trial.global_batch_size = microbatches * one;
    StepForecast forecast;
    if (!ForecastStep(run.work, trial, RatesFor(run), &forecast)) break;
    const double off = std::abs(std::log(forecast.us / from_us));
    if (off < nearest) nearest = off, best = trial.global_batch_size;
  }
  return best;
}

// Both runs of a pair, from the one setting that it states.
void ReadRuns(const Json& json, const Json& setting, const std::string& metric, Run base, AbRow* row) {
  row->family = FamilyOf(base.model_name);
  base.plan.permute_fusion = !absl::StrContains(row->note, "permute_fusion off");
  // The time of a run is a truth of its own where the layout and the batch are stated.
  const bool stated = JsonField(setting, "tp") != nullptr && JsonField(setting, "pp") != nullptr;
  const double unit = TimeUnit(metric);
  if (IsTime(metric) && stated && base.plan.global_batch_size > 0) {
    row->from_us = JsonNumber(json, "value_from") * unit;
    row->to_us = JsonNumber(json, "value_to") * unit;
  }
  if (base.plan.global_batch_size <= 0)
    base.plan.global_batch_size = GuessBatch(base, IsTime(metric) ? JsonNumber(json, "value_from") * unit : 0);
  row->from = row->to = base;
  const Json *from = JsonField(json, "from"), *to = JsonField(json, "to");
  row->expressible =
      from != nullptr && to != nullptr && Apply(row->knob, *from, &row->from) && Apply(row->knob, *to, &row->to);
  if (!row->expressible) row->why_not = "knob without a place in the forecast";
  for (Run* run : {&row->from, &row->to}) {
    if (run->plan.pp != base.plan.pp || run->plan.vpp != base.plan.vpp) SetStages("", run);
    SetContextExchange(run);
  }
  row->per_flop = metric == "tflops_per_gpu";
}

// Nothing: a row without a change of speed, or one of grade C.
std::optional<AbRow> ReadPair(const Catalog& catalog, const Json& json) {
  static const Json kNone(rapidjson::kObjectType);
  const std::string metric = JsonText(json, "metric");
  const Json* change = JsonField(json, "relative_change");
  if (JsonText(json, "grade") == "C" || change == nullptr || !(HigherIsBetter(metric) || IsTime(metric))) {
    return std::nullopt;
  }
  AbRow row;
  row.id = JsonText(json, "id");
  row.knob = JsonText(json, "knob");
  row.quality = JsonText(json, "quality");
  row.note = JsonText(json, "note");
  row.relative_change = change->GetDouble();
  if (HigherIsBetter(metric)) row.relative_change = 1 / (1 + row.relative_change) - 1;
  const Json* setting = JsonField(json, "setting");
  Run base;
  row.why_not = setting == nullptr ? "no setting" : ReadSettings(catalog, *setting, kNone, &base);
  base.efa = absl::StrContains(row.note, "EFA") || absl::StartsWith(JsonText(json, "source"), "awslabs/");
  if (row.why_not.empty()) ReadRuns(json, *setting, metric, std::move(base), &row);
  return row;
}

}  // namespace

std::vector<AbRow> ReadEvidence(const Catalog& catalog, const std::string& text) {
  std::vector<AbRow> rows;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    rapidjson::Document json;
    json.Parse(line.data(), line.size());
    if (json.HasParseError() || !json.IsObject()) continue;
    if (std::optional<AbRow> row = ReadPair(catalog, json); row.has_value()) rows.push_back(*std::move(row));
  }
  return rows;
}

TruthFile ReadEvidenceRuns(const Catalog& catalog, const std::string& text) {
  TruthFile file;
  std::map<std::string, bool> seen;
  for (AbRow& row : ReadEvidence(catalog, text)) {
    if (!row.expressible || row.from_us <= 0 || (row.quality != "matched" && row.quality != "directional")) continue;
    for (const bool first : {true, false}) {
      TruthRow truth;
      truth.id = absl::StrCat(row.id, first ? " from" : " to");
      truth.family = row.family;
      truth.step_us = first ? row.from_us : row.to_us;
      truth.run = first ? row.from : row.to;
      truth.gpu = truth.run.gpu_name;
      truth.precision = "bf16";
      truth.partial = true;
      // One baseline serves several pairs.
      if (!seen.emplace(absl::StrCat(truth.run.model_name, truth.step_us), true).second) continue;
      file.rows.push_back(std::move(truth));
    }
  }
  return file;
}

}  // namespace flightplan
