#include "tests/memory/memory_truth.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <regex>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "rapidjson/document.h"
#include "resolver/derive/module_names.h"
#include "tests/evidence/row_settings.h"
#include "tests/support/json_row.h"

namespace flightplan {
namespace {

std::optional<int64_t> Number(const Json& object, const char* name) {
  const Json* field = JsonField(object, name);
  if (field == nullptr || !field->IsNumber()) return std::nullopt;
  return static_cast<int64_t>(field->GetDouble());
}

// "deepseek-v2 (first layer dense)" -> "deepseek-v2"; "Mixtral-like small: 4 layers" -> "Mixtral".
std::string BaseName(const std::string& model) {
  static const std::regex kRest(R"((\s*\(|\s+shape|-like|[:,]).*$)");
  return absl::AsciiStrToLower(std::regex_replace(model, kRest, ""));
}

std::optional<int64_t> Words(const std::string& text, const char* pattern) {
  std::smatch match;
  if (!std::regex_search(text, match, std::regex(pattern, std::regex::icase))) return std::nullopt;
  return std::stoll(match[1].str());
}

// What a row says in words about the model it trained.
void Reshape(const std::string& text, const Json& setting, ModelSpec* model) {
  std::optional<int64_t> layers = Number(setting, "num_layers");
  if (!layers.has_value()) layers = Words(text, R"((\d+)[ -]layer)");
  if (auto n = Words(text, R"(hidden (\d+))"); n.has_value()) {
    model->kv_channels = *n / model->num_attention_heads;
    model->hidden_size = *n;
  }
  if (auto n = Words(text, R"(expert ffn (\d+))"); n.has_value()) {
    model->moe_ffn_hidden_size = *n;
    if (model->ffn_hidden_size.has_value()) model->ffn_hidden_size = *n;
  }
  if (auto n = Words(text, R"((\d+) vocab)"); n.has_value()) model->vocab_size = *n;
  if (model->is_moe()) {
    if (auto n = Words(text, R"((\d+) experts)"); n.has_value()) model->num_moe_experts = *n;
  }
  if (layers.has_value() && !model->hybrid_layer_pattern.has_value() && *layers > 0) {
    model->num_layers = *layers;
    for (std::vector<int64_t>* pattern : {&model->moe_layer_freq, &model->linear_attention_freq}) {
      if (!pattern->empty()) pattern->resize(static_cast<size_t>(*layers), pattern->back());
    }
    model->num_linear_attention_layers.reset();
  }
  if (absl::StrContains(text, "first layer dense") && !model->moe_layer_freq.empty()) {
    std::fill(model->moe_layer_freq.begin(), model->moe_layer_freq.end(), 1);
    model->moe_layer_freq[0] = 0;
  }
  if (absl::StrContains(text, "no MTP")) model->mtp_num_layers.reset();
  if (auto n = Words(text, R"(MTP (\d+))"); n.has_value()) model->mtp_num_layers = *n;
  model->first_k_dense.reset();
  model->computed.reset();
}

uint16_t Modules(const Json& list) {
  unsigned bits = 0;
  for (const Json& item : list.GetArray()) bits |= DropBitOf(item.GetString());
  return static_cast<uint16_t>(bits);
}

uint8_t DtypeBytes(const std::string& name) {
  return name == "float32" || name == "fp32" ? 4 : name == "uint8" ? 1 : 2;
}

// The knobs of memory that ReadRun leaves alone.
void ApplyRecipe(const Json& row, const Json& extra, Candidate* plan) {
  const auto on = [&](const char* name) {
    const Json* field = JsonField(extra, name);
    return field != nullptr && field->IsBool() && field->GetBool();
  };
  const std::string origin = JsonText(row, "origin");
  plan->distributed_optimizer = true;
  plan->precision_aware = on("precision_aware_optimizer");
  const std::string main_grads = JsonText(extra, "main_grads_dtype"), moments = JsonText(extra, "exp_avg_dtype");
  // Performance recipes reduce gradients in bf16 (Megatron-Bridge@067f987df perf_recipes/_common.py:73), the library's
  // in FP32 unless their optimizer takes them in bf16.
  const bool library = origin == "bridge_library_recipe" || origin == "loongforge_example";
  plan->gradient_bytes = library && main_grads != "bfloat16" ? 4 : 2;
  plan->main_param_bytes = 4;
  plan->moment1_bytes = plan->moment2_bytes = plan->precision_aware && !moments.empty() ? DtypeBytes(moments) : 4;
  const bool managed = !plan->low_precision() || plan->precision == GemmPrecision::kFp8Delayed;
  if (plan->precision_aware && managed) plan->main_param_bytes = 2;
  plan->gradient_copy = plan->gradient_bytes == 2 && !(plan->precision_aware && managed);
  plan->loss = JsonText(extra, "cross_entropy_fusion_impl") == "native" ? LossKind::kNativeFused : LossKind::kTeFused;
  plan->expandable_segments = true;  // the recipes' own environment (recipes/utils/environment_utils.py)
  if (plan->shard_weights) plan->shard_gradients = true;
  if (const Json* fusion = JsonField(extra, "gradient_accumulation_fusion"); fusion != nullptr && fusion->IsBool())
    plan->grad_accumulation_fusion = fusion->GetBool();
  const std::string granularity = JsonText(row, "recompute_granularity");
  if (granularity == "full") {
    plan->recompute =
        JsonText(extra, "recompute_method") == "block" ? RecomputeMode::kFullBlock : RecomputeMode::kFullUniform;
    plan->recompute_layers = static_cast<int32_t>(Number(extra, "recompute_num_layers").value_or(1));
  }
  if (const Json* factor = JsonField(extra, "moe_expert_rank_capacity_factor"); factor != nullptr && factor->IsNumber())
    plan->rank_capacity_factor = static_cast<float>(factor->GetDouble());
  plan->paged_stash = on("moe_paged_stash");
}

struct Recipe {
  rapidjson::Document json;
  const ModelSpec* model = nullptr;
};

std::vector<std::unique_ptr<Recipe>> ParseRecipes(const Catalog& catalog, const std::string& text) {
  std::vector<std::unique_ptr<Recipe>> recipes;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    auto recipe = std::make_unique<Recipe>();
    recipe->json.Parse(line.data(), line.size());
    if (recipe->json.HasParseError() || !recipe->json.IsObject() || !recipe->json.HasMember("extra")) continue;
    recipe->model =
        FindModelByName(catalog, JsonText(recipe->json, "model"), JsonText(recipe->json["extra"], "hf_model"));
    recipes.push_back(std::move(recipe));
  }
  return recipes;
}

std::string GpuOf(const std::string& text) {
  const std::string gpu = absl::AsciiStrToLower(text);
  return gpu.substr(0, gpu.find('-'));
}

std::string PrecisionOf(const std::string& text) {
  const std::string precision = absl::AsciiStrToLower(text);
  if (absl::StrContains(precision, "current scaling")) return "fp8_cs";
  if (absl::StrContains(precision, "mxfp8")) return "mxfp8";
  return precision.empty() ? "bf16" : precision;
}

// The recipe of the model that agrees with most of what the row states.
const Recipe* Nearest(const std::vector<std::unique_ptr<Recipe>>& recipes, const ModelSpec* model, const Json& row) {
  const Recipe* best = nullptr;
  int most = -1;
  for (const auto& recipe : recipes) {
    const Json& r = recipe->json;
    if (recipe->model != model || !absl::StartsWith(JsonText(r, "origin"), "bridge_") ||
        JsonField(r["extra"], "exp_avg_dtype") == nullptr)
      continue;
    int score = 0;
    if (GpuOf(JsonText(row, "gpu")) == JsonText(r, "gpu")) score += 8;
    if (PrecisionOf(JsonText(row, "precision")) == JsonText(r, "precision")) score += 6;
    for (const auto& [ours, theirs] : std::initializer_list<std::pair<const char*, const char*>>{
             {"gpus", "num_gpus"}, {"tp", "tp"}, {"pp", "pp"}, {"ep", "ep"}, {"cp", "cp"}, {"seq_length", "seq"}}) {
      if (Number(row, ours).has_value() && Number(row, ours) == Number(r, theirs)) score += 3;
    }
    if (const std::string dispatcher = JsonText(r, "dispatcher");
        !dispatcher.empty() && absl::StrContains(JsonText(row, "dispatcher"), dispatcher))
      score += 3;
    if (JsonText(row, "task") == "pretrain" && JsonText(r, "origin") == "bridge_library_recipe") score += 6;
    if (JsonText(r, "release") == "main") ++score;
    if (score > most) {
      most = score;
      best = recipe.get();
    }
  }
  return best;
}

class Reader {
 public:
  Reader(const Catalog& catalog, const std::string& recipes)
      : catalog_(catalog), recipes_(ParseRecipes(catalog, recipes)) {}

  std::string Read(const Json& line, MemoryRow* row) const {
    const Json* setting = JsonField(line, "setting");
    if (setting == nullptr) return "no setting";
    row->id = JsonText(line, "id");
    row->first_stage = absl::StartsWith(JsonText(line, "rank"), "rank 0");
    row->layout_stated = setting->HasMember("tp") || setting->HasMember("dp") || setting->HasMember("pp");
    const std::string status = JsonText(line, "status");
    row->ran = status == "ok";
    row->ran_out = absl::StrContains(status, "OOM");
    if (const Json* peak = JsonField(line, "measured_peak_gib"); peak != nullptr && !row->ran_out)
      row->measured = peak->GetDouble() * (1 << 30);
    const std::string named = JsonText(*setting, "model");
    if (absl::StrContains(JsonText(*setting, "task"), "LoRA"))
      return "adapters are trained, and the batch is not stated";
    const ModelSpec* model = FindModelByName(catalog_, BaseName(named), "");
    // "Mixtral-like", with its sizes in words: any of the family serves as the pattern.
    if (model == nullptr && absl::StrContains(named, "-like")) {
      for (const ModelSpec& candidate : catalog_.models()) {
        if (model == nullptr && absl::StartsWith(candidate.name, BaseName(named))) model = &candidate;
      }
    }
    if (model == nullptr) return absl::StrCat("model \"", BaseName(named), "\" is not in the catalogue");
    row->moe = model->is_moe();
    if (row->measured == 0 && !row->ran_out) return "no peak and no fit is stated";
    return Fill(*setting, line, *model, named, row);
  }

 private:
  std::string Fill(const Json& s, const Json& line, const ModelSpec& model, const std::string& named,
                   MemoryRow* row) const {
    const bool bridge = absl::StrContains(JsonText(line, "source"), "Bridge");
    const Recipe* recipe = bridge ? Nearest(recipes_, &model, s) : nullptr;
    // The row as ReadRun reads one: the recipe's settings, and on top what this row says.
    rapidjson::Document merged(rapidjson::kObjectType);
    rapidjson::Document extra(rapidjson::kObjectType);
    if (recipe != nullptr) {
      merged.CopyFrom(recipe->json, merged.GetAllocator());
      extra.CopyFrom(recipe->json["extra"], extra.GetAllocator());
      row->assumed.push_back(JsonText(recipe->json, "id"));
      // A layout string belongs to its own number of stages.
      if (Number(s, "pp").has_value() && Number(s, "pp") != Number(recipe->json, "pp")) extra.RemoveMember("pp_layout");
    }
    const auto set = [&](const char* name, auto value) {
      merged.RemoveMember(name);
      merged.AddMember(Json(name, merged.GetAllocator()), Json(value), merged.GetAllocator());
    };
    const auto set_text = [&](rapidjson::Document* to, const char* name, const std::string& value) {
      to->RemoveMember(name);
      to->AddMember(Json(name, to->GetAllocator()), Json(value.c_str(), to->GetAllocator()), to->GetAllocator());
    };
    set_text(&merged, "model", model.name);
    set_text(&merged, "gpu", GpuOf(JsonText(s, "gpu").empty() ? "h100" : JsonText(s, "gpu")));
    if (JsonText(s, "gpu").empty()) row->assumed.push_back("GPU");
    set_text(&merged, "precision", PrecisionOf(JsonText(s, "precision")));
    for (const auto& [ours, theirs] :
         std::initializer_list<std::pair<const char*, const char*>>{{"gpus", "num_gpus"},
                                                                    {"tp", "tp"},
                                                                    {"pp", "pp"},
                                                                    {"vpp", "vp"},
                                                                    {"cp", "cp"},
                                                                    {"ep", "ep"},
                                                                    {"etp", "etp"},
                                                                    {"seq_length", "seq"},
                                                                    {"micro_batch_size", "mbs"},
                                                                    {"global_batch_size", "gbs"}}) {
      if (auto value = Number(s, ours); value.has_value()) set(theirs, *value);
    }
    // Sizes that the stack defaults to one another.
    if (!Number(s, "etp").has_value() && !bridge && !Number(s, "ep").value_or(1)) set("etp", int64_t{1});
    if (!bridge && model.is_moe() && !Number(s, "etp").has_value()) set("etp", Number(s, "tp").value_or(1));
    if (Number(s, "vpp").value_or(1) == 1 && Number(s, "pp").has_value() && !Number(s, "vpp").has_value() &&
        Number(s, "pp") != Number(merged, "pp"))
      set("vp", int64_t{1});
    const int64_t dense =
        Number(merged, "tp").value_or(1) * Number(merged, "pp").value_or(1) * Number(merged, "cp").value_or(1);
    if (!Number(merged, "num_gpus").has_value()) set("num_gpus", dense * Number(s, "dp").value_or(1));
    if (!Number(merged, "seq").has_value()) return "the sequence length is not stated";
    if (!Number(merged, "mbs").has_value()) set("mbs", int64_t{1});
    if (auto per_step = Number(s, "micro_batches_per_step"); per_step.has_value()) {
      set("gbs",
          *per_step * Number(merged, "mbs").value_or(1) * std::max<int64_t>(1, *Number(merged, "num_gpus") / dense));
    }
    if (std::string layout = JsonText(s, "layout"); !layout.empty()) set_text(&extra, "pp_layout", layout);
    const bool simumax = absl::StrContains(JsonText(line, "source"), "SimuMax");
    return Finish(s, model, named, merged, extra, bridge, simumax, row);
  }

  std::string Finish(const Json& s, const ModelSpec& model, const std::string& named, const Json& merged,
                     const Json& extra, bool bridge, bool simumax, MemoryRow* row) const {
    Run& run = row->run;
    std::string why = ReadSettings(catalog_, merged, extra, &run);
    if (!why.empty()) return why;
    ModelSpec spec = model;
    Reshape(named, s, &spec);
    absl::StatusOr<ModelShape> shape = MakeShape(spec);
    if (!shape.ok()) return std::string(shape.status().message());
    run.shape = std::make_shared<const ModelShape>(*std::move(shape));
    Config config;
    config.Set(Knob::pipeline_model_parallel_size, Value(run.plan.pp), Origin::kCaller);
    config.Set(Knob::virtual_pipeline_model_parallel_size, Value(Number(merged, "vp").value_or(1)), Origin::kCaller);
    if (std::string layout = JsonText(extra, "pp_layout"); !layout.empty())
      config.Set(Knob::pipeline_model_parallel_layout, Value(layout), Origin::kCaller);
    run.stages = std::make_shared<const StageLayout>(StagesOf(*run.shape, config));
    Candidate& plan = run.plan;
    plan.stages = run.stages.get();
    plan.vpp = run.stages->vpp;
    if (plan.global_batch_size <= 0) {
      plan.global_batch_size = 8 * plan.micro_batch_size * plan.DataParallel() * plan.pp;
      row->assumed.push_back("batch");
    }
    if (bridge) {
      ApplyRecipe(merged, extra, &plan);
      plan.imbalance = 1;
    } else {
      MegatronLm(s, &plan);
      // Its launch scripts prepare Transformer Engine's loss kernel.
      if (plan.loss == LossKind::kNativeFused && simumax) plan.loss = LossKind::kTeFused;
    }
    return Own(s, &plan);
  }

  // Megatron-LM's command line where the row says nothing.
  static void MegatronLm(const Json& s, Candidate* plan) {
    plan->gradient_bytes = JsonText(s, "grad_dtype") == "bf16" ? 2 : 4;
    plan->main_param_bytes = plan->moment1_bytes = plan->moment2_bytes = 4;
    plan->precision_aware = false;
    plan->gradient_copy = plan->gradient_bytes == 2;
    plan->distributed_optimizer = true;
    const Json* fused = JsonField(s, "cross_entropy_loss_fusion");
    plan->loss = fused != nullptr && fused->IsTrue() ? LossKind::kNativeFused : LossKind::kUnfused;
    plan->imbalance = 1;
    plan->dispatcher = Dispatcher::kAllToAll;
    plan->drop_pad = absl::StrContains(JsonText(s, "moe_routing"), "padded");
  }

  // What the row itself says.
  static std::string Own(const Json& s, Candidate* plan) {
    if (const Json* sp = JsonField(s, "sequence_parallel"); sp != nullptr && sp->IsBool())
      plan->sequence_parallel = sp->GetBool() && plan->tp > 1;
    if (const Json* sharded = JsonField(s, "distributed_optimizer"); sharded != nullptr && sharded->IsBool())
      plan->distributed_optimizer = sharded->GetBool();
    if (const Json* modules = JsonField(s, "recompute_modules"); modules != nullptr && modules->IsArray()) {
      plan->recompute = RecomputeMode::kSelective;
      plan->recompute_modules = Modules(*modules);
    }
    if (const Json* modules = JsonField(s, "recompute"); modules != nullptr) {
      const std::string text = modules->IsString() ? modules->GetString() : "";
      plan->recompute = RecomputeMode::kNone;
      if (absl::StartsWith(text, "full")) plan->recompute = RecomputeMode::kFullUniform;
      if (modules->IsArray()) {
        plan->recompute = RecomputeMode::kSelective;
        plan->recompute_modules = Modules(*modules);
      }
    }
    if (const std::string type = JsonText(s, "cp_comm_type"); type == "a2a") plan->cp_comm = CpComm::kAllToAll;
    const std::string dispatcher = JsonText(s, "dispatcher");
    if (absl::StrContains(dispatcher, "hybridep")) plan->dispatcher = Dispatcher::kHybridEp;
    if (absl::StrContains(dispatcher, "deepep")) plan->dispatcher = Dispatcher::kDeepEp;
    if (dispatcher == "alltoall") plan->dispatcher = Dispatcher::kAllToAll;
    if (const Json* overlap = JsonField(s, "ep_overlap"); overlap != nullptr && overlap->IsBool())
      plan->ep_overlap = overlap->GetBool();
    if (auto percent = Number(s, "optimizer_offload_pct"); percent.has_value())
      plan->optimizer_offload = static_cast<float>(*percent) / 100;
    const std::string graphs = JsonText(s, "cuda_graph");
    if (absl::StartsWith(graphs, "transformer_engine")) {
      plan->graphs = GraphImpl::kTransformerEngine;
      plan->graph_modules = 0;
      for (const auto& [name, bit] : std::initializer_list<std::pair<const char*, unsigned>>{
               {"attn", kGraphAttn}, {"mamba", kGraphMamba}, {"moe_router", kGraphMoeRouter}}) {
        if (absl::StrContains(graphs, name)) plan->graph_modules = static_cast<uint8_t>(plan->graph_modules | bit);
      }
    }
    if (const Json* alloc = JsonField(s, "alloc_env"); alloc != nullptr && alloc->IsString())
      plan->expandable_segments = absl::StrContains(alloc->GetString(), "expandable");
    return "";
  }

  const Catalog& catalog_;
  std::vector<std::unique_ptr<Recipe>> recipes_;
};

}  // namespace

MemoryTruth ReadMemoryTruth(const Catalog& catalog, const std::string& text, const std::string& recipes) {
  const Reader reader(catalog, recipes);
  MemoryTruth truth;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    rapidjson::Document json;
    json.Parse(line.data(), line.size());
    if (json.HasParseError() || !json.IsObject()) {
      truth.left_out.push_back(absl::StrCat(line.substr(0, 40), ": does not read"));
      continue;
    }
    MemoryRow row;
    std::string why = reader.Read(json, &row);
    if (why.empty()) {
      truth.rows.push_back(std::move(row));
    } else {
      truth.left_out.push_back(absl::StrCat(JsonText(json, "id"), ": ", why));
    }
  }
  return truth;
}

MemoryTruth ReadEvidencePeaks(const Catalog& catalog, const std::string& text, const std::string& recipes) {
  const Reader reader(catalog, recipes);
  MemoryTruth truth;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    rapidjson::Document row;
    row.Parse(line.data(), line.size());
    if (row.HasParseError() || !absl::StartsWith(JsonText(row, "metric"), "peak_")) continue;
    const Json* setting = JsonField(row, "setting");
    for (const char* side : {"from", "to"}) {
      const Json* measured = JsonField(row, absl::StrCat("value_", side).c_str());
      const Json* value = JsonField(row, side);
      if (setting == nullptr || measured == nullptr || value == nullptr || !measured->IsNumber()) continue;
      // The same row in the words of memory-truth.jsonl, with this side's value of the knob.
      rapidjson::Document peak(rapidjson::kObjectType);
      auto& pool = peak.GetAllocator();
      Json said(rapidjson::kObjectType);
      for (const auto& [theirs, ours] :
           std::initializer_list<std::pair<const char*, const char*>>{{"model", "model"},
                                                                      {"gpu", "gpu"},
                                                                      {"num_gpus", "gpus"},
                                                                      {"precision", "precision"},
                                                                      {"gbs", "global_batch_size"},
                                                                      {"mbs", "micro_batch_size"},
                                                                      {"seq", "seq_length"},
                                                                      {"tp", "tp"},
                                                                      {"pp", "pp"},
                                                                      {"vp", "vpp"},
                                                                      {"cp", "cp"},
                                                                      {"ep", "ep"},
                                                                      {"etp", "etp"},
                                                                      {"recompute_modules", "recompute_modules"}}) {
        if (const Json* field = JsonField(*setting, theirs); field != nullptr)
          said.AddMember(Json(ours, pool), Json(*field, pool), pool);
      }
      const std::string knob = JsonText(row, "knob");
      said.RemoveMember(knob.c_str());
      if (knob == "tp" || knob == "pp" || knob == "recompute_modules") {
        said.AddMember(Json(knob.c_str(), pool), Json(*value, pool), pool);
      } else {
        truth.left_out.push_back(absl::StrCat(JsonText(row, "id"), ": ", knob, " has no place in the forecast"));
        continue;
      }
      if (absl::StrContains(JsonText(row, "note"), "SFT")) said.AddMember("task", "SFT", pool);
      if (JsonText(row, "metric") == "peak_alloc_gb") said.AddMember("task", "pretrain", pool);
      peak.AddMember("id", Json(absl::StrCat(JsonText(row, "id"), ".", side).c_str(), pool), pool);
      peak.AddMember("source", "Megatron-Bridge card", pool);
      peak.AddMember("setting", said, pool);
      peak.AddMember("measured_peak_gib", measured->GetDouble() * 1e9 / (1 << 30), pool);
      peak.AddMember("status", "ok", pool);
      peak.AddMember("rank", "rank 0", pool);
      MemoryRow out;
      std::string why = reader.Read(peak, &out);
      out.ran = false;  // the row says what was allocated, not that it fitted
      if (why.empty()) {
        truth.rows.push_back(std::move(out));
      } else {
        truth.left_out.push_back(absl::StrCat(JsonText(row, "id"), ": ", why));
      }
    }
  }
  return truth;
}

MemoryTruth ReadRecipesThatRan(const Catalog& catalog, const std::string& recipes) {
  MemoryTruth truth;
  for (const auto& recipe : ParseRecipes(catalog, recipes)) {
    const Json& r = recipe->json;
    const Json& extra = r["extra"];
    if (extra.HasMember("layout_check")) continue;
    const Json* tuned = JsonField(extra, "tuned");
    const Json* published = JsonField(r, "published");
    const bool measured = published != nullptr && (JsonField(*published, "tokens_per_s_per_gpu") != nullptr ||
                                                   JsonField(*published, "tflops_per_gpu") != nullptr ||
                                                   JsonField(*published, "step_time_s") != nullptr);
    MemoryRow row;
    row.id = JsonText(r, "id");
    row.ran = true;
    row.complete = !JsonText(r, "recompute_granularity").empty() && JsonField(extra, "partial") == nullptr;
    std::string why = ReadSettings(catalog, r, extra, &row.run);
    if (tuned != nullptr && tuned->IsFalse() && !measured) why = "a starter recipe";
    if (why.empty() && !row.run.gpu->hbm_bytes.has_value()) why = "memory of the GPU is not published";
    if (!why.empty()) {
      truth.left_out.push_back(absl::StrCat(row.id, ": ", why));
      continue;
    }
    row.moe = row.run.shape->is_moe();
    ApplyRecipe(r, extra, &row.run.plan);
    if (!row.complete) {
      row.run.plan.recompute = RecomputeMode::kFullUniform;
      row.run.plan.low_precision_weights = row.run.plan.low_precision();
    }
    truth.rows.push_back(std::move(row));
  }
  return truth;
}

}  // namespace flightplan
