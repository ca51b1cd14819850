#include "tests/evidence/row_settings.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "resolver/derive/context_exchange.h"
#include "resolver/derive/module_names.h"
#include "resolver/plan/environment.h"

namespace flightplan {

// Recipes shorten names or add to them: "moonlight_16b" is "moonlight-16b-a3b", "glm45_air_106b" is "glm-4.5-air",
// "llama3_70b" is "llama-3.1-70b". A unique beginning of the catalogue's name, else the longest name that begins this
// one.
const ModelSpec* FindModelByName(const Catalog& catalog, const std::string& name, const std::string& hub_name) {
  if (auto model = catalog.FindModel(name); model.ok()) return *model;
  if (auto model = catalog.FindModel(hub_name); !hub_name.empty() && model.ok()) return *model;
  auto squeeze = [](absl::string_view text) { return absl::StrReplaceAll(text, {{"_", ""}, {"-", ""}, {".", ""}}); };
  std::string wanted = squeeze(name);
  if (absl::StartsWith(wanted, "llama3") && !absl::StartsWith(wanted, "llama31"))
    wanted = absl::StrCat("llama31", wanted.substr(6));
  if (wanted.empty()) return nullptr;
  std::vector<const ModelSpec*> longer;
  const ModelSpec* shorter = nullptr;
  for (const ModelSpec& model : catalog.models()) {
    const auto same = [&](const std::string& alias) { return squeeze(alias) == wanted; };
    if (std::any_of(model.aliases.begin(), model.aliases.end(), same)) return &model;
    const std::string known = squeeze(model.name);
    if (known == wanted) return &model;
    if (absl::StartsWith(known, wanted)) longer.push_back(&model);
    if (absl::StartsWith(wanted, known) && (shorter == nullptr || known.size() > squeeze(shorter->name).size()))
      shorter = &model;
  }
  return longer.size() == 1 ? longer.front() : shorter;
}

std::string FamilyOf(const std::string& model) {
  for (const char* family :
       {"deepseek", "qwen3-next", "qwen3", "llama", "gpt-oss", "nemotron", "mixtral", "moonlight"}) {
    if (absl::StrContains(model, family)) return family;
  }
  return model;
}

std::optional<GemmPrecision> ReadPrecision(const std::string& name) {
  if (name == "bf16" || name.empty()) return GemmPrecision::kBf16;
  if (name == "fp8_cs" || name == "fp8") return GemmPrecision::kFp8Tensorwise;
  if (name == "fp8_ds") return GemmPrecision::kFp8Delayed;
  if (name == "fp8_block") return GemmPrecision::kFp8Blockwise;
  if (name == "mxfp8") return GemmPrecision::kMxfp8;
  if (name == "nvfp4") return GemmPrecision::kNvfp4;
  return std::nullopt;
}

std::optional<Dispatcher> ReadBackend(const std::string& name) {
  if (name.empty() || name == "alltoall") return Dispatcher::kAllToAll;
  if (name == "allgather") return Dispatcher::kAllGather;
  if (absl::StartsWith(name, "deepep")) return Dispatcher::kDeepEp;
  if (absl::StartsWith(name, "hybridep")) return Dispatcher::kHybridEp;
  return std::nullopt;
}

void ReadRecompute(const std::vector<std::string>& modules, Candidate* plan) {
  static const std::map<std::string, unsigned> kNames = {{"core_attn", kDropCoreAttn},
                                                         {"layernorm", kDropLayernorm},
                                                         {"mla_up_proj", kDropMlaUpProj},
                                                         {"moe_act", kDropMoeAct},
                                                         {"mlp", kDropMlp},
                                                         {"shared_experts", kDropSharedExperts},
                                                         {"moe", kDropMoe}};
  unsigned bits = 0;
  for (const std::string& module : modules) {
    if (auto it = kNames.find(module); it != kNames.end()) bits |= it->second;
  }
  plan->recompute = RecomputeMode::kSelective;
  plan->recompute_modules = static_cast<uint16_t>(bits);
}

void ReadGraphs(const std::string& impl, const std::vector<std::string>& scopes, Candidate* plan) {
  static const std::map<std::string, unsigned> kNames = {{"attn", kGraphAttn},
                                                         {"mlp", kGraphMlp},
                                                         {"moe_router", kGraphMoeRouter},
                                                         {"moe_preprocess", kGraphMoePreprocess},
                                                         {"mamba", kGraphMamba},
                                                         {"moe", kGraphMoe}};
  plan->graph_modules = 0;
  plan->graphs = impl == "local" ? GraphImpl::kLocal : GraphImpl::kTransformerEngine;
  if (impl.empty() || impl == "none") plan->graphs = GraphImpl::kNone;
  for (const std::string& scope : scopes) {
    if (scope == "full_iteration") plan->graphs = GraphImpl::kFullIteration;
    if (auto it = kNames.find(scope); it != kNames.end())
      plan->graph_modules = static_cast<uint8_t>(plan->graph_modules | it->second);
  }
  if (impl == "full_iteration") plan->graphs = GraphImpl::kFullIteration;
}

namespace {

// Layers that do not divide over the pipeline run with a layout string, which sources rarely print: the loss and each
// MTP depth take the place of a layer in the last chunk, what is left over goes short in the first ones.
StageLayout BalancedStages(const ModelShape& shape, int pp, int vpp) {
  const int64_t chunks = int64_t{pp} * vpp, closing = 1 + shape.mtp_depths, cells = shape.num_layers + closing;
  const int64_t each = (cells + chunks - 1) / chunks;
  std::vector<int64_t> sizes(static_cast<size_t>(chunks), each);
  int64_t surplus = each * chunks - cells;
  for (size_t i = 0; i < sizes.size() && surplus > 0; ++i, --surplus) --sizes[i];
  // More closing cells than the last chunk holds push layers out of the ones before.
  sizes.back() -= closing;
  for (size_t i = sizes.size(); i-- > 1 && sizes[i] < 0;) sizes[i - 1] += sizes[i], sizes[i] = 0;
  return StagesOfSizes(shape, pp, vpp, sizes);
}

}  // namespace

void SetStages(const std::string& layout, Run* run) {
  Config config;
  config.Set(Knob::pipeline_model_parallel_size, Value(run->plan.pp), Origin::kCaller);
  if (run->plan.vpp > 1) config.Set(Knob::virtual_pipeline_model_parallel_size, Value(run->plan.vpp), Origin::kCaller);
  if (!layout.empty()) config.Set(Knob::pipeline_model_parallel_layout, Value(layout), Origin::kCaller);
  const int64_t chunks = int64_t{run->plan.pp} * run->plan.vpp;
  run->stages = std::make_shared<const StageLayout>(layout.empty() && run->shape->num_layers % chunks != 0
                                                        ? BalancedStages(*run->shape, run->plan.pp, run->plan.vpp)
                                                        : StagesOf(*run->shape, config));
  run->plan.stages = run->stages.get();
  run->plan.vpp = run->stages->vpp;
}

void SetContextExchange(Run* run) {
  Candidate& plan = run->plan;
  if (plan.cp <= 1) return;
  plan.cp_comm = ContextExchangeOf(*run->shape, plan.tp, plan.cp, plan.seq_length, run->gpu->nvlink_domain_gpus).type;
}

namespace {

// What the recipes of the rows that train adapters say of them (Megatron-Bridge@067f987df), and Llama's of graphs and
// recompute (v0.5.0 scripts/performance/configs/llama/llama3_workload_base_configs.py:578).
struct AdapterRecipe {
  const char* model;
  int32_t rank;
  unsigned targets;
  const char* source;
};
constexpr unsigned kUsualTargets = kAdaptQkv | kAdaptProj | kAdaptFc1 | kAdaptFc2 | kAdaptExperts;
constexpr AdapterRecipe kAdapterRecipes[] = {
    {"llama-3-70b", 16, kAdaptQkv, "perf_recipes/llama/h100/llama3.py:463"},
    {"moonlight-16b-a3b", 8, kAdaptQ | kAdaptKvDown | kAdaptKvUp | kAdaptProj,
     "recipes/moonlight/h100/moonlight_16b.py:893"},
    {"qwen3-30b-a3b", 8, kAdaptQkv | kAdaptProj, "recipes/qwen/h100/qwen3_moe.py:727"},
    {"gpt-oss-20b", 32, kUsualTargets, "recipes/gpt_oss/h100/gpt_oss.py:656"},
    {"gpt-oss-120b", 32, kUsualTargets, "recipes/gpt_oss/h100/gpt_oss.py:795"},
};

// Empty, or why it cannot be said.
std::string SetAdapters(Run* run) {
  Candidate& plan = run->plan;
  const auto* const recipe = std::find_if(std::begin(kAdapterRecipes), std::end(kAdapterRecipes),
                                          [run](const AdapterRecipe& row) { return run->model_name == row.model; });
  if (recipe == std::end(kAdapterRecipes)) return "no recipe of its adapters is known";
  plan.adapters.rank = plan.adapters.expert_rank = recipe->rank;
  plan.adapters.targets = static_cast<uint16_t>(recipe->targets);
  const bool graphs = run->model_name == "llama-3-70b" && run->gpu->cc_major >= 10;
  if (graphs) plan.graphs = GraphImpl::kTransformerEngine, plan.graph_modules = kGraphMlp;
  return "";
}

// Which model on which GPU; empty, or why it cannot be said.
std::string ReadModel(const Catalog& catalog, const Json& row, const Json& extra, Run* run) {
  const ModelSpec* model = FindModelByName(catalog, JsonText(row, "model"), JsonText(extra, "hf_model"));
  if (model == nullptr) return "model not in the catalogue";
  auto gpu = catalog.FindGpu(JsonText(row, "gpu"));
  if (!gpu.ok()) return "GPU not stated or not in the catalogue";
  run->model_name = model->name;
  run->gpu_name = (*gpu)->name;
  run->gpu = *gpu;
  ModelSpec spec = *model;
  if (JsonField(extra, "mtp_num_layers") != nullptr)
    spec.mtp_num_layers = static_cast<int64_t>(JsonNumber(extra, "mtp_num_layers"));
  absl::StatusOr<ModelShape> shape = MakeShape(spec);
  if (!shape.ok()) return std::string(shape.status().message());
  run->shape = std::make_shared<const ModelShape>(*std::move(shape));
  run->work = WorkOf(*run->shape);
  return "";
}

// Groups, batch and lengths.
void ReadSizes(const Json& row, bool moe, Candidate* plan) {
  const auto size = [&](const char* name) { return static_cast<int32_t>(std::max(1.0, JsonNumber(row, name, 1))); };
  plan->tp = size("tp");
  plan->pp = size("pp");
  plan->vpp = size("vp");
  plan->cp = size("cp");
  plan->ep = moe ? size("ep") : 1;
  plan->etp = moe ? size("etp") : 1;
  plan->micro_batch_size = size("mbs");
  plan->seq_length = static_cast<int64_t>(JsonNumber(row, "seq", moe ? 4096 : 8192));
  plan->global_batch_size = static_cast<int64_t>(JsonNumber(row, "gbs"));
}

// What is sent between the GPUs, and what hides it.
void ReadCommunication(const Json& row, const Json& extra, Dispatcher dispatcher, const Run& run, Candidate* plan) {
  const bool moe = run.shape->experts > 0;
  plan->dispatcher = dispatcher;
  // Not stated: over a network the published runs of those releases used DeepEP.
  if (JsonText(row, "dispatcher").empty() && plan->ep > run.gpu->nvlink_domain_gpus) {
    plan->dispatcher = Dispatcher::kDeepEp;
  }
  plan->num_sms = static_cast<uint16_t>(JsonNumber(row, "num_sms"));
  plan->ep_overlap = JsonFlag(row, "moe_a2a_overlap");
  plan->delay_wgrad = plan->ep_overlap && JsonFlag(row, "delay_wgrad");
  plan->shared_expert_overlap = JsonFlag(row, "shared_expert_overlap");
  plan->tp_overlap = plan->tp > 1 && JsonFlag(row, "tp_overlap", !moe);
  plan->sequence_parallel = plan->tp > 1 && JsonFlag(extra, "sequence_parallel", true);
  plan->shard_weights = JsonFlag(extra, "fsdp") || JsonNumber(extra, "fsdp") > 0;
  plan->overlap_grad_reduce = JsonFlag(extra, "overlap_grad_reduce", true);
  plan->overlap_param_gather = JsonFlag(extra, "overlap_param_gather", true);
  plan->distributed_optimizer = true;
}

// What saves memory or launches.
void ReadExecution(const Json& row, Candidate* plan) {
  const std::string granularity = JsonText(row, "recompute_granularity");
  if (granularity == "full") plan->recompute = RecomputeMode::kFullUniform;
  const Json* modules = JsonField(row, "recompute_modules");
  if (modules != nullptr && granularity != "full" && granularity != "none") ReadRecompute(JsonStrings(*modules), plan);
  const Json* scopes = JsonField(row, "cuda_graph_scope");
  ReadGraphs(JsonText(row, "cuda_graph_impl"), scopes == nullptr ? std::vector<std::string>() : JsonStrings(*scopes),
             plan);
  if (const Json* offload = JsonField(row, "offload"); offload != nullptr) {
    if (JsonFlag(*offload, "cpu_offloading"))
      plan->offload_layers = static_cast<int32_t>(JsonNumber(*offload, "cpu_offloading_num_layers"));
    plan->optimizer_offload = static_cast<float>(JsonNumber(*offload, "optimizer_cpu_offload_fraction"));
    if (const Json* names = JsonField(*offload, "activation_modules"); names != nullptr) {
      Value::List offloaded;
      for (const std::string& name : JsonStrings(*names)) offloaded.emplace_back(name);
      plan->offload_modules = OffloadBitsOf(Value(std::move(offloaded)), Value());
    }
  }
}

// Not stated: "te" (perf_recipes/_common.py:70).
LossKind LossOf(const Json& extra) {
  if (JsonText(extra, "cross_entropy_fusion_impl") == "native") return LossKind::kNativeFused;
  Environment env;
  env.te = Version::Parse(JsonText(extra, "te"));
  return TeLossOf(env);
}

// Kernels and number formats.
void ReadKernels(const Json& extra, Candidate* plan) {
  const bool natural = absl::StrContains(JsonText(extra, "note"), "natural");
  const bool token_drop = JsonText(extra, "note") == "tokendrop";
  // apply_moe_token_drop has a factor of 1.
  const double capacity = JsonNumber(extra, "moe_expert_capacity_factor", token_drop ? 1 : 0);
  plan->drop_pad = capacity > 0;
  if (plan->drop_pad) plan->capacity_factor = static_cast<float>(capacity);
  plan->imbalance =
      static_cast<float>(plan->BusiestRows(JsonFlag(extra, "force_load_balancing", !natural) ? 1.0 : 1.25));
  plan->permute_fusion = JsonFlag(extra, "moe_permute_fusion", true);
  plan->router_fusion = JsonFlag(extra, "moe_router_fusion", true);
  plan->fused_grouped_mlp = JsonFlag(extra, "use_te_op_fuser");
  plan->low_precision_head = plan->low_precision() && JsonFlag(extra, "fp8_output_proj");
  plan->fp8_attention = JsonFlag(extra, "fp8_dot_product_attention");
  // Megatron-Bridge@067f987df perf_recipes/_common.py:73: bf16 gradients in the performance recipes.
  plan->gradient_bytes = 2;
  plan->low_precision_weights = JsonFlag(extra, "fp8_param_gather");
  if (JsonFlag(extra, "first_last_layers_bf16"))
    plan->bf16_layers = static_cast<uint16_t>(JsonNumber(extra, "num_layers_at_start_in_bf16") +
                                              JsonNumber(extra, "num_layers_at_end_in_bf16"));
}

}  // namespace

std::string ReadSettings(const Catalog& catalog, const Json& row, const Json& extra, Run* run) {
  if (std::string why = ReadModel(catalog, row, extra, run); !why.empty()) return why;
  Candidate& plan = run->plan;
  plan.gpus = static_cast<int64_t>(JsonNumber(row, "num_gpus"));
  if (plan.gpus <= 0) return "GPU count not stated";
  const auto precision = ReadPrecision(JsonText(row, "precision"));
  if (!precision.has_value()) return "unknown precision";
  plan.precision = *precision;
  ReadSizes(row, run->shape->experts > 0, &plan);
  const auto backend = ReadBackend(JsonText(row, "dispatcher"));
  if (!backend.has_value()) return "unknown dispatcher";
  ReadCommunication(row, extra, *backend, *run, &plan);
  ReadExecution(row, &plan);
  ReadKernels(extra, &plan);
  plan.loss = LossOf(extra);
  SetContextExchange(run);
  SetStages(JsonText(extra, "pp_layout"), run);
  return JsonText(extra, "task") == "lora" ? SetAdapters(run) : "";
}

}  // namespace flightplan
