// memory-truth.jsonl: step times beside the memory that a run took.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/evidence/row_settings.h"
#include "tests/evidence/truth.h"
#include "tests/support/json_row.h"

namespace flightplan {
namespace {

// The model as it was run and reported; nothing: no such model.
std::optional<ModelShape> ShapeOf(const ModelSpec& model, const Json& setting) {
  Config config;
  if (JsonField(setting, "num_layers") != nullptr)
    config.Set(Knob::num_layers, Value(static_cast<int64_t>(JsonNumber(setting, "num_layers"))), Origin::kCaller);
  ModelSpec spec = model;
  spec.mtp_num_layers.reset();
  // The shortened models have one dense layer.
  if (absl::StrContains(JsonText(setting, "model"), "first layer dense")) {
    for (size_t i = 0; i < spec.moe_layer_freq.size(); ++i) spec.moe_layer_freq[i] = i == 0 ? 0 : 1;
  }
  absl::StatusOr<ModelShape> shape = MakeShape(spec, config);
  if (!shape.ok()) return std::nullopt;
  return *std::move(shape);
}

void ReadPlan(const Json& s, Candidate* plan) {
  const auto size = [&](const char* name) { return static_cast<int32_t>(std::max(1.0, JsonNumber(s, name, 1))); };
  plan->gpus = size("gpus");
  plan->tp = size("tp"), plan->pp = size("pp"), plan->vpp = size("vpp"), plan->cp = size("cp"), plan->ep = size("ep");
  plan->micro_batch_size = size("micro_batch_size");
  plan->seq_length = size("seq_length");
  plan->sequence_parallel = plan->tp > 1;
  plan->global_batch_size = static_cast<int64_t>(
      JsonNumber(s, "global_batch_size", JsonNumber(s, "micro_batches_per_step") * JsonNumber(s, "dp", 1)));
  const std::string dispatcher = JsonText(s, "dispatcher");
  plan->dispatcher = absl::StrContains(dispatcher, "hybridep") ? Dispatcher::kHybridEp : Dispatcher::kAllToAll;
  if (const Json* modules = JsonField(s, "recompute_modules"); modules != nullptr)
    ReadRecompute(JsonStrings(*modules), plan);
  if (JsonText(s, "recompute") == "full") plan->recompute = RecomputeMode::kFullUniform;
  if (absl::StrContains(JsonText(s, "cuda_graph"), "attn")) ReadGraphs("transformer_engine", {"attn", "mamba"}, plan);
  plan->optimizer_offload = static_cast<float>(JsonNumber(s, "optimizer_offload_pct") / 100);
  plan->cp_comm = JsonText(s, "cp_comm_type") == "a2a" ? CpComm::kAllToAll : CpComm::kP2p;
  plan->distributed_optimizer = true;
  plan->router_fusion = false;
}

void ReadMemoryRun(const Catalog& catalog, const Json& json, const Json& setting, TruthFile* file) {
  TruthRow truth;
  truth.id = JsonText(json, "id");
  truth.step_us = JsonNumber(json, "step_ms") * 1e3;
  truth.precision = JsonText(setting, "precision");
  // The sources' own names, with a remark in parentheses.
  const std::vector<std::string> words = absl::StrSplit(JsonText(setting, "model"), ' ');
  const ModelSpec* model = FindModelByName(catalog, absl::AsciiStrToLower(words[0]), "");
  auto gpu = catalog.FindGpu(absl::StrReplaceAll(absl::AsciiStrToLower(JsonText(setting, "gpu")), {{"-80gb", ""}}));
  if (model == nullptr || !gpu.ok() || JsonNumber(setting, "seq_length") <= 0) {
    file->left_out.push_back(absl::StrCat(truth.id, ": model, GPU or sequence not stated or not in the catalogue"));
    return;
  }
  std::optional<ModelShape> shape = ShapeOf(*model, setting);
  if (!shape.has_value()) return;
  Run& run = truth.run;
  run.shape = std::make_shared<const ModelShape>(*std::move(shape));
  run.work = WorkOf(*run.shape);
  run.model_name = model->name;
  run.gpu_name = (*gpu)->name;
  run.gpu = *gpu;
  ReadPlan(setting, &run.plan);
  // Megatron-Bridge overlaps by default; the other sources run Megatron-LM without the flags.
  run.plan.overlap_grad_reduce = run.plan.overlap_param_gather = absl::StartsWith(truth.id, "bridge_");
  SetStages("", &run);
  truth.family = FamilyOf(run.model_name);
  truth.gpu = run.gpu_name;
  truth.partial = true;
  file->rows.push_back(std::move(truth));
}

}  // namespace

TruthFile ReadMemoryRuns(const Catalog& catalog, const std::string& text) {
  TruthFile file;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    rapidjson::Document json;
    json.Parse(line.data(), line.size());
    if (json.HasParseError() || !json.IsObject() || JsonNumber(json, "step_ms") <= 0) continue;
    if (const Json* setting = JsonField(json, "setting"); setting != nullptr) {
      ReadMemoryRun(catalog, json, *setting, &file);
    }
  }
  return file;
}

}  // namespace flightplan
