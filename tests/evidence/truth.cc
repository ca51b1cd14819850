#include "tests/evidence/truth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "rapidjson/document.h"
#include "resolver/derive/context_exchange.h"
#include "resolver/estimate/estimate.h"
#include "resolver/estimate/probe_outlook.h"

namespace flightplan {
namespace {

using Json = rapidjson::Value;

const Json* Field(const Json& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  auto it = object.FindMember(name);
  return it == object.MemberEnd() || it->value.IsNull() ? nullptr : &it->value;
}

std::string Text(const Json& object, const char* name) {
  const Json* field = Field(object, name);
  return field != nullptr && field->IsString() ? field->GetString() : "";
}

double Number(const Json& object, const char* name, double otherwise = 0) {
  const Json* field = Field(object, name);
  return field != nullptr && field->IsNumber() ? field->GetDouble() : otherwise;
}

bool Flag(const Json& object, const char* name, bool otherwise = false) {
  const Json* field = Field(object, name);
  return field != nullptr && field->IsBool() ? field->GetBool() : otherwise;
}

std::vector<std::string> Strings(const Json& list) {
  std::vector<std::string> out;
  if (!list.IsArray()) return out;
  for (const Json& item : list.GetArray()) {
    if (item.IsString()) out.emplace_back(item.GetString());
  }
  return out;
}

// Recipes shorten names or add to them: "moonlight_16b" is "moonlight-16b-a3b", "glm45_air_106b" is "glm-4.5-air",
// "llama3_70b" is "llama-3.1-70b". A unique beginning of the catalogue's name, else the longest name that begins this
// one.
const ModelSpec* FindModel(const Catalog& catalog, const std::string& name, const std::string& hub_name) {
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

// Rows do not state how context-parallel ranks exchange: what the decisions take.
void SetContextExchange(Run* run) {
  Candidate& plan = run->plan;
  if (plan.cp <= 1) return;
  plan.cp_comm = ContextExchangeOf(*run->shape, plan.tp, plan.cp, plan.seq_length, run->gpu->nvlink_domain_gpus).type;
}

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
    {"llama-3.1-70b", 16, kAdaptQkv, "perf_recipes/llama/h100/llama3.py:463"},
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
  const bool graphs = run->model_name == "llama-3.1-70b" && run->gpu->cc_major >= 10;
  if (graphs) plan.graphs = GraphImpl::kTransformerEngine, plan.graph_modules = kGraphMlp;
  return "";
}

// What a row's settings say, on top of what `run` holds.
std::string ReadSettings(const Catalog& catalog, const Json& row, const Json& extra, Run* run) {
  const ModelSpec* model = FindModel(catalog, Text(row, "model"), Text(extra, "hf_model"));
  if (model == nullptr) return "model not in the catalogue";
  auto gpu = catalog.FindGpu(Text(row, "gpu"));
  if (!gpu.ok()) return "GPU not stated or not in the catalogue";
  run->model_name = model->name;
  run->gpu_name = (*gpu)->name;
  run->gpu = *gpu;
  ModelSpec spec = *model;
  if (Field(extra, "mtp_num_layers") != nullptr)
    spec.mtp_num_layers = static_cast<int64_t>(Number(extra, "mtp_num_layers"));
  absl::StatusOr<ModelShape> shape = MakeShape(spec);
  if (!shape.ok()) return std::string(shape.status().message());
  run->shape = std::make_shared<const ModelShape>(*std::move(shape));
  run->work = WorkOf(*run->shape);
  Candidate& plan = run->plan;
  plan.gpus = static_cast<int64_t>(Number(row, "num_gpus"));
  if (plan.gpus <= 0) return "GPU count not stated";
  const auto precision = ReadPrecision(Text(row, "precision"));
  if (!precision.has_value()) return "unknown precision";
  plan.precision = *precision;
  const auto size = [&](const char* name) { return static_cast<int32_t>(std::max(1.0, Number(row, name, 1))); };
  plan.tp = size("tp");
  plan.pp = size("pp");
  plan.vpp = size("vp");
  plan.cp = size("cp");
  plan.ep = model->is_moe() ? size("ep") : 1;
  plan.etp = model->is_moe() ? size("etp") : 1;
  plan.micro_batch_size = size("mbs");
  plan.seq_length = static_cast<int64_t>(Number(row, "seq", model->is_moe() ? 4096 : 8192));
  plan.global_batch_size = static_cast<int64_t>(Number(row, "gbs"));
  const auto backend = ReadBackend(Text(row, "dispatcher"));
  if (!backend.has_value()) return "unknown dispatcher";
  plan.dispatcher = *backend;
  // Not stated: over a network the published runs of those releases used DeepEP.
  if (Text(row, "dispatcher").empty() && plan.ep > (*gpu)->nvlink_domain_gpus) plan.dispatcher = Dispatcher::kDeepEp;
  plan.num_sms = static_cast<uint16_t>(Number(row, "num_sms"));
  plan.ep_overlap = Flag(row, "moe_a2a_overlap");
  plan.delay_wgrad = plan.ep_overlap && Flag(row, "delay_wgrad");
  plan.shared_expert_overlap = Flag(row, "shared_expert_overlap");
  plan.tp_overlap = plan.tp > 1 && Flag(row, "tp_overlap", !model->is_moe());
  plan.sequence_parallel = plan.tp > 1 && Flag(extra, "sequence_parallel", true);
  const std::string granularity = Text(row, "recompute_granularity");
  if (granularity == "full") plan.recompute = RecomputeMode::kFullUniform;
  if (const Json* modules = Field(row, "recompute_modules");
      modules != nullptr && granularity != "full" && granularity != "none")
    ReadRecompute(Strings(*modules), &plan);
  const Json* scopes = Field(row, "cuda_graph_scope");
  ReadGraphs(Text(row, "cuda_graph_impl"), scopes == nullptr ? std::vector<std::string>() : Strings(*scopes), &plan);
  const bool natural = absl::StrContains(Text(extra, "note"), "natural");
  plan.drop_pad = Text(extra, "note") == "tokendrop";
  plan.imbalance = Flag(extra, "force_load_balancing", !natural) ? 1.0F : 1.25F;
  plan.permute_fusion = Flag(extra, "moe_permute_fusion", true);
  plan.router_fusion = Flag(extra, "moe_router_fusion", true);
  plan.fused_grouped_mlp = Flag(extra, "use_te_op_fuser");
  plan.low_precision_head = plan.low_precision() && Flag(extra, "fp8_output_proj");
  plan.fp8_attention = Flag(extra, "fp8_dot_product_attention");
  plan.shard_weights = Flag(extra, "fsdp") || Number(extra, "fsdp") > 0;
  plan.overlap_grad_reduce = Flag(extra, "overlap_grad_reduce", true);
  plan.overlap_param_gather = Flag(extra, "overlap_param_gather", true);
  // Megatron-Bridge@067f987df perf_recipes/_common.py:73: bf16 gradients in the performance recipes.
  plan.gradient_bytes = 2;
  plan.low_precision_weights = Flag(extra, "fp8_param_gather");
  if (Flag(extra, "first_last_layers_bf16"))
    plan.bf16_layers = static_cast<uint16_t>(Number(extra, "num_layers_at_start_in_bf16") +
                                             Number(extra, "num_layers_at_end_in_bf16"));
  if (const Json* offload = Field(row, "offload"); offload != nullptr) {
    if (Flag(*offload, "cpu_offloading"))
      plan.offload_layers = static_cast<int32_t>(Number(*offload, "cpu_offloading_num_layers"));
    plan.optimizer_offload = static_cast<float>(Number(*offload, "optimizer_cpu_offload_fraction"));
  }
  plan.distributed_optimizer = true;
  SetContextExchange(run);
  SetStages(Text(extra, "pp_layout"), run);
  return Text(extra, "task") == "lora" ? SetAdapters(run) : "";
}

// What runs on the knobs that sources leave out.
struct Unstated {
  bool recompute = false, graphs = false, dispatcher = false, overlap = false;
  bool any() const { return recompute || graphs || dispatcher || overlap; }
};

// Knobs without a place in a model (dispatcher and overlap of dense ones) are not unknown.
Unstated UnstatedOf(const Json& row, bool moe) {
  Unstated none;
  none.recompute = Field(row, "recompute_granularity") == nullptr && Field(row, "recompute_modules") == nullptr;
  none.graphs = Field(row, "cuda_graph_impl") == nullptr && Field(row, "cuda_graph_scope") == nullptr;
  none.dispatcher = moe && Number(row, "ep") > 1 && Field(row, "dispatcher") == nullptr;
  none.overlap = moe && Number(row, "ep") > 1 && Field(row, "moe_a2a_overlap") == nullptr;
  return none;
}

// What a complete recipe sets for the knobs that others leave out, and what it is for.
struct Donor {
  std::string model, gpu, precision;
  bool moe = false, low_precision = false;
  int generation = 0;
  double age = 0;  // of its release, in years since 2025
  Candidate plan;
  Unstated missing;  // a preset leaves some to others
};

// Years since 2025 of the releases that the rows name: containers by month, Megatron-Bridge by its container.
double ReleaseYear(const std::string& release) {
  static const std::map<std::string, double> kBridge = {{"v0.1.0", 25.67}, {"v0.2.0", 25.83}, {"v0.3.0", 26.08},
                                                        {"v0.3.1", 26.10}, {"v0.4.0", 26.25}, {"v0.4.2", 26.30},
                                                        {"v0.5.0", 26.42}, {"v0.6.0", 26.58}, {"main", 26.60}};
  if (auto it = kBridge.find(release); it != kBridge.end()) return it->second - 25;
  const std::vector<std::string> parts = absl::StrSplit(absl::StripPrefix(release, "v"), '.');
  double year = 0, month = 0;
  if (parts.size() >= 2 && absl::SimpleAtod(parts[0], &year) && absl::SimpleAtod(parts[1], &month) && year >= 25)
    return year - 25 + (month - 1) / 12;
  if (absl::StartsWith(release, "mlperf-v5.0")) return 0.3;
  if (absl::StartsWith(release, "mlperf-v5.1")) return 0.7;
  if (release == "mcore-discussion") return 0.8;
  if (absl::StartsWith(release, "arXiv 2603")) return 1.2;
  return 1.5;
}

// How near a donor's setting is to a run's: the model before the machine before the precision before the layout.
double Nearness(const Donor& donor, const Donor& row) {
  if (donor.moe != row.moe) return 0;
  const Candidate &a = donor.plan, &b = row.plan;
  double near = 1 - 4.0 * std::abs(donor.age - row.age);
  near += donor.model == row.model ? 8 : 0;
  near += donor.gpu == row.gpu ? 4 : donor.generation == row.generation ? 2 : 0;
  near += donor.precision == row.precision ? 2 : donor.low_precision == row.low_precision ? 1 : 0;
  near += a.tp == b.tp && a.pp == b.pp && a.cp == b.cp && a.ep == b.ep ? 2 : 0;
  near += a.vpp == b.vpp && a.micro_batch_size == b.micro_batch_size ? 1 : 0;
  // Who shards the weights has room that others must make by recomputing.
  near += a.shard_weights == b.shard_weights ? 8 : 0;
  return near;
}

void Take(const Unstated& none, const Candidate& from, Candidate* to) {
  if (none.recompute) to->recompute = from.recompute, to->recompute_modules = from.recompute_modules;
  if (none.graphs) to->graphs = from.graphs, to->graph_modules = from.graph_modules;
  if (none.dispatcher) to->dispatcher = from.dispatcher, to->num_sms = from.num_sms;
  // The overlap asks for virtual stages where there is a pipeline, and for a dispatcher that can.
  const bool able = (to->pp == 1 || to->vpp > 1) && to->dispatcher != Dispatcher::kAllGather;
  if (none.overlap && able) to->ep_overlap = from.ep_overlap, to->delay_wgrad = from.delay_wgrad;
}

Donor DonorOf(const TruthRow& row, const std::string& release, const Unstated& missing) {
  return {row.run.model_name,
          row.gpu,
          row.precision,
          row.run.shape->experts > 0,
          row.precision != "bf16",
          row.run.gpu->cc_major,
          ReleaseYear(release),
          row.run.plan,
          missing};
}

// What a preset leaves open is that of the complete recipe nearest to it.
void CompleteDonors(std::vector<Donor>* donors) {
  for (Donor& donor : *donors) {
    if (!donor.missing.any()) continue;
    const Donor* nearest = nullptr;
    for (const Donor& other : *donors) {
      if (other.missing.any()) continue;
      if (nearest == nullptr || Nearness(other, donor) > Nearness(*nearest, donor)) nearest = &other;
    }
    if (nearest != nullptr) Take(donor.missing, nearest->plan, &donor.plan);
  }
}

bool SameKnobs(const Candidate& a, const Candidate& b) {
  return a.recompute == b.recompute && a.recompute_modules == b.recompute_modules && a.graphs == b.graphs &&
         a.graph_modules == b.graph_modules && a.dispatcher == b.dispatcher && a.num_sms == b.num_sms &&
         a.ep_overlap == b.ep_overlap && a.delay_wgrad == b.delay_wgrad;
}

// Nobody computes all layers again where everything fits: the donor that did had less room.
void DropNeedlessRecompute(Run* run) {
  if (run->plan.recompute != RecomputeMode::kFullUniform && run->plan.recompute != RecomputeMode::kFullBlock) return;
  Candidate without = run->plan;
  without.recompute = RecomputeMode::kNone;
  MemoryForecast memory;
  const GpuMemory gpu = MemoryOf(*run->gpu);
  ForecastMemory(*run->shape, without, gpu, &memory);
  if (memory.fullest.total.value <= kRoom * gpu.capacity) run->plan = without;
}

// Each donor counts by its nearness: one step further away, a third of the weight.
void AddVariants(const std::vector<Donor>& donors, const Unstated& none, TruthRow* row) {
  constexpr size_t kMost = 5;
  const Donor asked = DonorOf(*row, row->release, none);
  double nearest = 0;
  for (const Donor& donor : donors) nearest = std::max(nearest, Nearness(donor, asked));
  std::vector<Variant> variants;
  for (const Donor& donor : donors) {
    const double near = Nearness(donor, asked), weight = std::pow(3.0, near - nearest);
    if (weight < 0.05) continue;
    Run run = row->run;
    Take(none, donor.plan, &run.plan);
    if (none.recompute) DropNeedlessRecompute(&run);
    auto same = std::find_if(variants.begin(), variants.end(),
                             [&](const Variant& other) { return SameKnobs(other.run.plan, run.plan); });
    if (same == variants.end()) same = variants.insert(variants.end(), {run, 0});
    same->weight += weight;
  }
  if (variants.empty()) return;
  std::stable_sort(variants.begin(), variants.end(),
                   [](const Variant& a, const Variant& b) { return a.weight > b.weight; });
  if (variants.size() > kMost) variants.resize(kMost);
  double sum = 0;
  for (const Variant& variant : variants) sum += variant.weight;
  for (Variant& variant : variants) variant.weight /= sum;
  row->run = variants.front().run;
  row->weight = variants.front().weight;
  row->others.assign(variants.begin() + 1, variants.end());
}

// Releases in order of age: the verification cards are the newest, then the containers by date.
double ReleaseAge(const std::string& release) {
  if (absl::StartsWith(release, "verification")) return 100;
  double age = 0;
  std::vector<std::string> parts = absl::StrSplit(release, '.');
  double scale = 1;
  for (const std::string& part : parts) {
    double number = 0;
    if (!absl::SimpleAtod(part, &number)) return 50;
    age += number * scale;
    scale /= 100;
  }
  return age;
}

}  // namespace

bool ForecastRow(const TruthRow& row, const StepCoefficients& coefficients, StepForecast* out) {
  if (!ForecastStep(row.run.work, row.run.plan, RatesFor(row.run, coefficients), out) || !(out->us > 0)) return false;
  // The forecast is of today's stack; older ones were slower.
  const double older = std::pow(coefficients.release_year, row.age);
  out->us *= older, out->low_us *= older, out->high_us *= older;
  if (row.others.empty()) return true;
  double mean = row.weight * std::log(out->us), low = out->low_us, high = out->high_us;
  for (const Variant& other : row.others) {
    StepForecast forecast;
    if (!ForecastStep(other.run.work, other.run.plan, RatesFor(other.run, coefficients), &forecast)) return false;
    mean += other.weight * std::log(forecast.us * older);
    low = std::min(low, forecast.low_us * older);
    high = std::max(high, forecast.high_us * older);
  }
  out->us = std::exp(mean);
  out->low_us = low;
  out->high_us = high;
  return true;
}

namespace {

std::vector<std::shared_ptr<const ProbeEvidence>>& ProfilesInUse() {
  static auto& profiles = *new std::vector<std::shared_ptr<const ProbeEvidence>>();
  return profiles;
}

}  // namespace

void UseProfiles(std::vector<std::shared_ptr<const ProbeEvidence>> profiles) { ProfilesInUse() = std::move(profiles); }

GpuRates RatesFor(const Run& run, const StepCoefficients& coefficients) {
  GpuRates rates = RatesOf(*run.gpu, coefficients);
  for (const std::shared_ptr<const ProbeEvidence>& probe : ProfilesInUse()) {
    if (!IsOfType(probe->fitted->profile, *run.gpu)) continue;
    rates = WithProbe(rates, *probe);
    break;
  }
  if (!run.efa) return rates;
  return OverEfa(run.gpu->cc_major == 9 ? WithSlowHost(rates) : rates);  // AWS p5 has the older host
}

std::string ReadRun(const Catalog& catalog, const Json& row, const Json& extra, Run* run) {
  return ReadSettings(catalog, row, extra, run);
}

const ModelSpec* FindModelByName(const Catalog& catalog, const std::string& name, const std::string& hub_name) {
  return FindModel(catalog, name, hub_name);
}

namespace {

// The row's MTP depths, where it does not state them: those whose model FLOPs are the ones behind the published
// TFLOP/s.
void ReadMtp(const Json& published, const Json& extra, Run* run) {
  const double tokens = Number(published, "tokens_per_s_per_gpu"), tflops = Number(published, "tflops_per_gpu");
  if (Field(extra, "mtp_num_layers") != nullptr || run->work.mtp_depths <= 0 || tokens <= 0 || tflops <= 0) return;
  ModelShape shape = *run->shape;
  shape.mtp_depths = 0;
  const ModelWork without = WorkOf(shape);
  const auto seq = static_cast<double>(run->plan.seq_length);
  const double counted = tflops * 1e12 / tokens;
  if (std::abs(FlopsPerToken(without, seq) - counted) >= std::abs(FlopsPerToken(run->work, seq) - counted)) return;
  run->shape = std::make_shared<const ModelShape>(shape);
  run->work = without;
  SetStages("", run);
}

// Whole samples a second are up to 3.8 % off; then the note has the step time that the TFLOP/s give.
double SecondsOfNote(const std::string& note) {
  constexpr absl::string_view kBefore = "TFLOP/s gives ";
  const size_t at = note.find(kBefore.data());
  double seconds = 0;
  if (at == std::string::npos) return 0;
  const std::string rest = note.substr(at + kBefore.size());
  return absl::SimpleAtod(rest.substr(0, rest.find(' ')), &seconds) ? seconds : 0;
}

// Why a row is no truth, or nothing.
std::string Doubt(const Json& row, const Json& extra) {
  if (Text(row, "quality") == "C") return absl::StrCat("graded C: ", Text(row, "quality_note"));
  if (Flag(extra, "layout_check")) return "cannot run on its own GPU count";
  return "";
}

// Microseconds of a step by what is published; 0: nothing is.
double PublishedStepUs(const Json& row, const Json& published, TruthRow* truth) {
  const double tokens = Number(published, "tokens_per_s_per_gpu"), tflops = Number(published, "tflops_per_gpu");
  const double seconds = Number(published, "step_time_s", Number(published, "step_time_s_derived"));
  const Candidate& plan = truth->run.plan;
  const double step_tokens = static_cast<double>(plan.global_batch_size) * static_cast<double>(plan.seq_length);
  if (const double noted = SecondsOfNote(Text(row, "quality_note")); noted > 0) return noted * 1e6;
  if (tokens > 0) return step_tokens / (tokens * static_cast<double>(plan.gpus)) * 1e6;
  if (seconds > 0) return seconds * 1e6;
  truth->per_flop = true;
  return FlopsPerToken(truth->run.work, static_cast<double>(plan.seq_length)) * step_tokens /
         (tflops * 1e12 * static_cast<double>(plan.gpus)) * 1e6;
}

// A recipe function's or a complete script's knobs; a preset's, as far as it states them.
bool IsDonor(const Json& row, const Json& extra, const Unstated& none) {
  const std::string origin = Text(row, "origin");
  const bool states = !none.recompute || !none.graphs || (!none.dispatcher && Field(row, "dispatcher") != nullptr);
  return (!none.any() || Field(extra, "partial") != nullptr) && states && Text(row, "quality") != "C" &&
         (origin == "bridge_perf_recipe" || origin == "bridge_workload_config" || origin == "modelzoo_script" ||
          absl::StartsWith(origin, "mlperf"));
}

}  // namespace

std::string FamilyOf(const std::string& model) {
  for (const char* family :
       {"deepseek", "qwen3-next", "qwen3", "llama", "gpt-oss", "nemotron", "mixtral", "moonlight"}) {
    if (absl::StrContains(model, family)) return family;
  }
  return model;
}

TruthFile ReadRecipes(const Catalog& catalog, const std::string& text) {
  TruthFile file;
  static const Json kNone(rapidjson::kObjectType);
  std::vector<Donor> donors;
  std::vector<Unstated> unstated;  // of file.rows
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    rapidjson::Document row;
    row.Parse(line.data(), line.size());
    if (row.HasParseError() || !row.IsObject()) continue;
    TruthRow truth;
    truth.id = Text(row, "id");
    truth.precision = Text(row, "precision");
    const Json* found = Field(row, "extra");
    const Json& extra = found == nullptr ? kNone : *found;
    const std::string why = ReadSettings(catalog, row, extra, &truth.run);
    const bool moe = why.empty() && truth.run.shape->experts > 0;
    const Unstated none = UnstatedOf(row, moe);
    truth.gpu = truth.run.gpu_name;
    if (why.empty() && IsDonor(row, extra, none)) {
      donors.push_back(DonorOf(truth, Text(row, "release"), none));
    }
    const Json* published = Field(row, "published");
    if (published == nullptr || (Number(*published, "tokens_per_s_per_gpu") <= 0 &&
                                 Number(*published, "tflops_per_gpu") <= 0 && Number(*published, "step_time_s") <= 0))
      continue;
    // Its recipe says what it trains, and the knobs that the row does not state.
    const bool adapters = Text(extra, "task") == "lora";
    std::string doubt = !why.empty() ? why : Doubt(row, extra);
    const bool graded_c = why.empty() && Text(row, "quality") == "C";
    if (adapters && graded_c) doubt.clear();
    if (doubt.empty() && truth.run.plan.global_batch_size <= 0) doubt = "global batch not stated";
    if (!doubt.empty()) {
      file.left_out.push_back(absl::StrCat(truth.id, ": ", doubt));
      continue;
    }
    ReadMtp(*published, extra, &truth.run);
    truth.release = Text(*published, "release");
    truth.age = std::max(0.0, ReleaseYear("main") - ReleaseYear(truth.release));
    truth.family = FamilyOf(truth.run.model_name);
    truth.step_us = PublishedStepUs(row, *published, &truth);
    truth.rounded = absl::StrContains(truth.release, "rounded");
    truth.complete = Text(row, "quality") == "A";
    truth.partial = none.any() || Field(extra, "partial") != nullptr || Text(extra, "task") == "sft" ||
                    (!truth.complete && Field(row, "quality") != nullptr);
    if (adapters) {
      truth.doubtful = graded_c;
      file.adapters.push_back(std::move(truth));
      continue;
    }
    file.rows.push_back(std::move(truth));
    unstated.push_back(none);
  }
  CompleteDonors(&donors);
  for (size_t i = 0; i < file.rows.size(); ++i) {
    if (unstated[i].any()) AddVariants(donors, unstated[i], &file.rows[i]);
  }
  std::map<std::string, double> newest;
  const auto key = [](const TruthRow& row) {
    return absl::StrCat(row.run.model_name, "|", row.gpu, "|", row.run.plan.gpus, "|", row.precision);
  };
  for (const TruthRow& row : file.rows) {
    double& age = newest.try_emplace(key(row), -1).first->second;
    age = std::max(age, ReleaseAge(row.release));
  }
  for (TruthRow& row : file.rows) row.current = ReleaseAge(row.release) >= newest[key(row)];
  return file;
}

namespace {

// What one side of an A/B says. False: the knob or its value has no place in the forecast.
bool Apply(const Catalog& catalog, const std::string& knob, const Json& value, Run* run);

bool ApplyText(const std::string& knob, const std::string& text, Run* run) {
  Candidate& plan = run->plan;
  const bool on = text == "True" || text == "true" || text == "on";
  double number = 0;
  const bool numeric = absl::SimpleAtod(text, &number);
  if (knob == "moe_a2a_overlap") return plan.ep_overlap = on, true;
  if (knob == "moe_a2a_overlap (+delay_wgrad)") return plan.ep_overlap = plan.delay_wgrad = on, true;
  if (knob == "delay_wgrad") return plan.delay_wgrad = on, true;
  if (knob == "dispatcher") {
    const auto backend = ReadBackend(text);
    if (!backend.has_value()) return false;
    // A transport of its own is another machine to the forecast.
    if (absl::StrContains(text, "UCCL")) return false;
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
  if (knob == "cuda_graph_impl") {
    std::vector<std::string> scopes;
    std::string impl = text;
    if (const size_t open = text.find('('); open != std::string::npos) {
      impl = text.substr(0, open);
      const size_t close = text.find(')', open);
      scopes = absl::StrSplit(text.substr(open + 1, close - open - 1), ',');
    }
    if (absl::StrContains(text, "packed")) return false;
    return ReadGraphs(std::string(absl::StripAsciiWhitespace(impl)), scopes, &plan), true;
  }
  if (knob == "mbs" && numeric) return plan.micro_batch_size = static_cast<int32_t>(number), true;
  if (knob == "tp" && numeric) {
    plan.tp = static_cast<int32_t>(number);
    plan.sequence_parallel = plan.tp > 1;
    return true;
  }
  if (knob == "CUDA_DEVICE_MAX_CONNECTIONS") return false;
  if (knob == "tp_overlap" || knob == "tp_comm_overlap") return plan.tp_overlap = on, true;
  if (knob == "shared_expert_overlap" || knob == "moe_shared_expert_overlap")
    return plan.shared_expert_overlap = on, true;
  if (knob == "overlap_grad_reduce") return plan.overlap_grad_reduce = on, true;
  if (knob == "overlap_param_gather") return plan.overlap_param_gather = on, true;
  if (knob == "moe_permute_fusion") return plan.permute_fusion = on, true;
  if (knob == "moe_router_fusion") return plan.router_fusion = on, true;
  if (knob == "sequence_parallel") return plan.sequence_parallel = on, true;
  if (knob == "fsdp") return plan.shard_weights = on || number > 0, true;
  if (knob == "recompute_granularity") {
    plan.recompute = text == "full" ? RecomputeMode::kFullUniform : RecomputeMode::kNone;
    return text == "full" || text == "none" || text == "False";
  }
  if (knob == "cp" && numeric) return plan.cp = static_cast<int32_t>(number), true;
  if (knob == "etp" && numeric) return plan.etp = static_cast<int32_t>(number), true;
  if (knob == "gbs" && numeric) return plan.global_batch_size = static_cast<int64_t>(number), true;
  if (knob == "num_sms" && numeric) return plan.num_sms = static_cast<uint16_t>(number), true;
  if (knob == "pp" && numeric) return plan.pp = static_cast<int32_t>(number), true;
  if (knob == "vp" && numeric) return plan.vpp = static_cast<int32_t>(number), true;
  if (knob == "ep" && numeric) return plan.ep = static_cast<int32_t>(number), true;
  if (knob == "optimizer_cpu_offload_fraction" && numeric)
    return plan.optimizer_offload = static_cast<float>(number), true;
  if (knob == "overlap_cpu_optimizer_d2h_h2d") return plan.overlap_optimizer_copies = on, true;
  if (knob == "use_te_op_fuser") return plan.fused_grouped_mlp = on, true;
  if (knob == "fp8_dot_product_attention") return plan.fp8_attention = on, true;
  if (knob == "moe_paged_stash") return true;
  if (knob == "seq+cp") {
    std::vector<std::string> parts = absl::StrSplit(text, "/cp");
    int64_t seq = 0, cp = 0;
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &seq) || !absl::SimpleAtoi(parts[1], &cp)) return false;
    plan.seq_length = seq;
    plan.cp = static_cast<int32_t>(cp);
    return true;
  }
  return false;
}

bool Apply(const Catalog& catalog, const std::string& knob, const Json& value, Run* run) {
  if (value.IsObject()) {
    bool all = true;
    for (const auto& member : value.GetObject())
      all = Apply(catalog, member.name.GetString(), member.value, run) && all;
    return all;
  }
  if (value.IsArray()) {
    if (knob == "recompute_modules") return ReadRecompute(Strings(value), &run->plan), true;
    if (knob == "cuda_graph_scope") {
      if (run->plan.graphs != GraphImpl::kFullIteration) ReadGraphs("transformer_engine", Strings(value), &run->plan);
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

bool IsTime(const std::string& metric) {
  return metric == "step_time_s" || metric == "step_time_ms" || metric == "step_time";
}

}  // namespace

std::vector<AbRow> ReadEvidence(const Catalog& catalog, const std::string& text) {
  std::vector<AbRow> rows;
  static const Json kNone(rapidjson::kObjectType);
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    rapidjson::Document json;
    json.Parse(line.data(), line.size());
    if (json.HasParseError() || !json.IsObject()) continue;
    if (Text(json, "grade") == "C") continue;
    const std::string metric = Text(json, "metric");
    const Json* change = Field(json, "relative_change");
    if (change == nullptr || !(HigherIsBetter(metric) || IsTime(metric))) continue;
    AbRow row;
    row.id = Text(json, "id");
    row.knob = Text(json, "knob");
    row.quality = Text(json, "quality");
    row.note = Text(json, "note");
    row.relative_change = change->GetDouble();
    const bool efa = absl::StrContains(row.note, "EFA") || absl::StartsWith(Text(json, "source"), "awslabs/");
    if (HigherIsBetter(metric)) row.relative_change = 1 / (1 + row.relative_change) - 1;
    const Json* setting = Field(json, "setting");
    Run base;
    row.why_not = setting == nullptr ? "no setting" : ReadSettings(catalog, *setting, kNone, &base);
    base.efa = efa;
    if (row.why_not.empty()) {
      row.family = FamilyOf(base.model_name);
      base.plan.permute_fusion = !absl::StrContains(row.note, "permute_fusion off");
      // The time of a run is a truth of its own where the layout and the batch are stated.
      const bool stated = Field(*setting, "tp") != nullptr && Field(*setting, "pp") != nullptr;
      if (IsTime(metric) && stated && base.plan.global_batch_size > 0) {
        const double unit = TimeUnit(metric);
        row.from_us = Number(json, "value_from") * unit;
        row.to_us = Number(json, "value_to") * unit;
      }
      // Where the batch is not stated: sixteen microbatches, as the nearest published runs.
      Candidate& plan = base.plan;
      if (plan.global_batch_size <= 0)
        plan.global_batch_size = GuessBatch(base, IsTime(metric) ? Number(json, "value_from") * TimeUnit(metric) : 0);
      row.from = row.to = base;
      const Json* from = Field(json, "from");
      const Json* to = Field(json, "to");
      row.expressible = from != nullptr && to != nullptr && Apply(catalog, row.knob, *from, &row.from) &&
                        Apply(catalog, row.knob, *to, &row.to);
      if (!row.expressible) row.why_not = "knob without a place in the forecast";
      for (Run* run : {&row.from, &row.to}) {
        if (run->plan.pp != base.plan.pp || run->plan.vpp != base.plan.vpp) SetStages("", run);
        SetContextExchange(run);
      }
      row.per_flop = metric == "tflops_per_gpu";
    }
    rows.push_back(std::move(row));
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

TruthFile ReadMemoryRuns(const Catalog& catalog, const std::string& text) {
  TruthFile file;
  static const Json kNone(rapidjson::kObjectType);
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    rapidjson::Document json;
    json.Parse(line.data(), line.size());
    if (json.HasParseError() || !json.IsObject() || Number(json, "step_ms") <= 0) continue;
    const Json* s = Field(json, "setting");
    if (s == nullptr) continue;
    TruthRow truth;
    truth.id = Text(json, "id");
    truth.step_us = Number(json, "step_ms") * 1e3;
    truth.precision = Text(*s, "precision");
    // The sources' own names, with a remark in parentheses.
    const std::vector<std::string> words = absl::StrSplit(Text(*s, "model"), ' ');
    const ModelSpec* model = FindModel(catalog, absl::AsciiStrToLower(words[0]), "");
    auto gpu = catalog.FindGpu(absl::StrReplaceAll(absl::AsciiStrToLower(Text(*s, "gpu")), {{"-80gb", ""}}));
    if (model == nullptr || !gpu.ok() || Number(*s, "seq_length") <= 0) {
      file.left_out.push_back(absl::StrCat(truth.id, ": model, GPU or sequence not stated or not in the catalogue"));
      continue;
    }
    Config config;
    if (Field(*s, "num_layers") != nullptr)
      config.Set(Knob::num_layers, Value(static_cast<int64_t>(Number(*s, "num_layers"))), Origin::kCaller);
    ModelSpec spec = *model;
    spec.mtp_num_layers.reset();
    // The shortened models have one dense layer.
    if (words.size() > 1 && absl::StrContains(Text(*s, "model"), "first layer dense")) {
      for (size_t i = 0; i < spec.moe_layer_freq.size(); ++i) spec.moe_layer_freq[i] = i == 0 ? 0 : 1;
    }
    absl::StatusOr<ModelShape> shape = MakeShape(spec, config);
    if (!shape.ok()) continue;
    Run& run = truth.run;
    run.shape = std::make_shared<const ModelShape>(*std::move(shape));
    run.work = WorkOf(*run.shape);
    run.model_name = model->name;
    run.gpu_name = (*gpu)->name;
    run.gpu = *gpu;
    Candidate& plan = run.plan;
    const auto size = [&](const char* name) { return static_cast<int32_t>(std::max(1.0, Number(*s, name, 1))); };
    plan.gpus = size("gpus");
    plan.tp = size("tp"), plan.pp = size("pp"), plan.vpp = size("vpp"), plan.cp = size("cp"), plan.ep = size("ep");
    plan.micro_batch_size = size("micro_batch_size");
    plan.seq_length = size("seq_length");
    plan.sequence_parallel = plan.tp > 1;
    plan.global_batch_size = static_cast<int64_t>(
        Number(*s, "global_batch_size", Number(*s, "micro_batches_per_step") * Number(*s, "dp", 1)));
    const std::string dispatcher = Text(*s, "dispatcher");
    plan.dispatcher = absl::StrContains(dispatcher, "hybridep") ? Dispatcher::kHybridEp : Dispatcher::kAllToAll;
    if (const Json* modules = Field(*s, "recompute_modules"); modules != nullptr)
      ReadRecompute(Strings(*modules), &plan);
    if (Text(*s, "recompute") == "full") plan.recompute = RecomputeMode::kFullUniform;
    if (absl::StrContains(Text(*s, "cuda_graph"), "attn")) ReadGraphs("transformer_engine", {"attn", "mamba"}, &plan);
    plan.optimizer_offload = static_cast<float>(Number(*s, "optimizer_offload_pct") / 100);
    plan.cp_comm = Text(*s, "cp_comm_type") == "a2a" ? CpComm::kAllToAll : CpComm::kP2p;
    plan.distributed_optimizer = true;
    plan.router_fusion = false;
    // Megatron-Bridge overlaps by default; the other sources run Megatron-LM without the flags.
    plan.overlap_grad_reduce = plan.overlap_param_gather = absl::StartsWith(truth.id, "bridge_");
    SetStages("", &run);
    truth.family = FamilyOf(run.model_name);
    truth.gpu = run.gpu_name;
    truth.partial = true;
    file.rows.push_back(std::move(truth));
  }
  return file;
}

StepEffect ForecastEffect(const AbRow& row, const StepCoefficients& coefficients) {
  StepForecast from, to;
  const GpuRates rates = RatesFor(row.from, coefficients);
  if (!ForecastStep(row.from.work, row.from.plan, rates, &from) || !ForecastStep(row.to.work, row.to.plan, rates, &to))
    return {0, -1, 1};
  StepEffect effect = EffectOf(from, to);
  // TFLOP/s of two sequence lengths compare work, not steps.
  if (row.per_flop && to.model_flops > 0) {
    const double ratio = from.model_flops / to.model_flops;
    effect = {(1 + effect.change) * ratio - 1, (1 + effect.low) * ratio - 1, (1 + effect.high) * ratio - 1};
  }
  return effect;
}

}  // namespace flightplan
