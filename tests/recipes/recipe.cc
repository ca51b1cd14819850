#include "tests/recipes/recipe.h"

#include <algorithm>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/defaults.h"
#include "resolver/plan/stack.h"
#include "tests/support/data_file.h"

namespace flightplan {
namespace {

// Releases in order of age; other stacks (model zoo scripts, papers) replace nothing and are never replaced.
int Rank(const std::string& release) {
  if (release == "main") return 100;
  std::vector<std::string> parts = absl::StrSplit(release, '.');
  int minor = 0;
  if (parts.size() >= 2 && release[0] == 'v' && parts[0] == "v0" && absl::SimpleAtoi(parts[1], &minor)) return minor;
  return -1;
}

// What is in a container of NeMo Framework, "26.04.01" or "v26.04.01" (Megatron-Bridge@067f987df
// docs/releases/software-versions.md); 0: no container.
int ReleaseInContainer(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(absl::StripPrefix(name, "v"), '.');
  int year = 0, month = 0;
  if (parts.size() < 2 || parts[0].size() != 2 || parts[1].size() != 2) return 0;
  if (!absl::SimpleAtoi(parts[0], &year) || !absl::SimpleAtoi(parts[1], &month)) return 0;
  constexpr std::pair<int, int> kSince[] = {{2608, 6}, {2606, 5}, {2604, 4}, {2602, 3}, {2511, 2}};
  for (const auto& [since, bridge] : kSince) {
    if (year * 100 + month >= since) return bridge;
  }
  return kBridgeReleases[0];
}

int BridgeRelease(const std::string& release) {
  if (const int known = ReleaseInContainer(release); known != 0) return std::max(kBridgeReleases[0], known);
  const int rank = Rank(release);
  return rank < 0 || rank == 100 ? kMain : std::max(kBridgeReleases[0], rank);
}

// Before 0.3 it refuses HybridEP but on GB200 and GB300 (Megatron-Bridge@v0.2.0
// src/megatron/bridge/training/flex_dispatcher_backend.py:54, lifted by 7c06ec0c0).
bool HybridepRunsInNodes(const std::string& release) {
  const int container = ReleaseInContainer(release), rank = Rank(release);
  constexpr int kSince = 3;
  return container != 0 ? container >= kSince : rank < 0 || rank >= kSince;
}

const ModelSpec* FindRecipeModel(const Catalog& catalog, const Recipe& recipe) {
  if (auto model = catalog.FindModel(recipe.model); model.ok()) return *model;
  const rapidjson::Value& extra = recipe.json["extra"];
  if (auto model = catalog.FindModel(Text(extra, "hf_model")); model.ok()) return *model;
  // A short name is a unique beginning of the catalogue's: "moonlight_16b" is "moonlight-16b-a3b".
  auto squeeze = [](absl::string_view name) { return absl::StrReplaceAll(name, {{"_", ""}, {"-", ""}, {".", ""}}); };
  // "llama3_70b" is run with Llama 3.1's shape; "llama31_405b" says so itself.
  const std::string wanted =
      absl::StrReplaceAll(squeeze(recipe.model), {{"llama31", "llama31"}, {"llama3", "llama31"}});
  const ModelSpec* found = nullptr;
  for (const ModelSpec& model : catalog.models()) {
    if (!absl::StartsWith(squeeze(model.name), wanted)) continue;
    if (found != nullptr) return nullptr;
    found = &model;
  }
  return found;
}

std::optional<Precision> ReadPrecision(const std::string& name) {
  if (name == "bf16") return Precision::kBf16;
  if (name == "fp8_cs" || name == "fp8") return Precision::kFp8Tensorwise;  // "fp8": the source does not say which
  if (name == "fp8_block") return Precision::kFp8Blockwise;
  if (name == "fp8_ds") return Precision::kFp8Delayed;
  if (name == "mxfp8") return Precision::kMxfp8;
  if (name == "nvfp4") return Precision::kNvfp4;
  return std::nullopt;
}

void MarkSuperseded(std::vector<Recipe>* recipes) {
  auto key = [](const Recipe& r) { return absl::StrCat(r.model, "|", r.gpu, "|", r.gpus, "|", r.precision); };
  std::map<std::string, int> newest;
  for (const Recipe& r : *recipes) {
    if (r.starter || Rank(r.release) < 0) continue;
    int& rank = newest.try_emplace(key(r), -1).first->second;
    rank = std::max(rank, Rank(r.release));
  }
  for (Recipe& r : *recipes) {
    auto it = newest.find(key(r));
    r.superseded = !r.starter && Rank(r.release) >= 0 && it != newest.end() && Rank(r.release) < it->second;
  }
}

}  // namespace

std::string Text(const rapidjson::Value& object, const char* name) {
  auto it = object.FindMember(name);
  return it != object.MemberEnd() && it->value.IsString() ? it->value.GetString() : "";
}

std::optional<int64_t> Number(const rapidjson::Value& object, const char* name) {
  auto it = object.FindMember(name);
  if (it == object.MemberEnd() || !it->value.IsInt64()) return std::nullopt;
  return it->value.GetInt64();
}

std::optional<bool> Flag(const rapidjson::Value& object, const char* name) {
  auto it = object.FindMember(name);
  if (it == object.MemberEnd() || !it->value.IsBool()) return std::nullopt;
  return it->value.GetBool();
}

std::optional<NormalizedIntent> MakeIntent(const Catalog& catalog, const Recipe& recipe, std::string* why) {
  const rapidjson::Value& r = recipe.json;
  const rapidjson::Value& extra = r["extra"];
  NormalizedIntent intent;
  const ModelSpec* model = FindRecipeModel(catalog, recipe);
  if (model == nullptr) return *why = "model not in the catalogue", std::nullopt;
  intent.model = *model;
  auto gpu = catalog.FindGpu(recipe.gpu);
  if (!gpu.ok()) return *why = "GPU not stated or not in the catalogue", std::nullopt;
  intent.gpu = **gpu;
  intent.gpu_count = recipe.gpus;
  if (recipe.gpus <= 0) return *why = "GPU count not stated", std::nullopt;
  const std::optional<Precision> precision = ReadPrecision(recipe.precision);
  if (!precision.has_value()) return *why = "unknown precision", std::nullopt;
  intent.workload.precision = *precision;
  if (*precision == Precision::kMxfp8 && intent.gpu.cc_major != 0 && intent.gpu.cc_major < 10) {
    return *why = "MXFP8 before Blackwell: refused by the hardware gate", std::nullopt;
  }
  intent.workload.seq_length = Number(r, "seq").value_or(model->is_moe() ? 4096 : 8192);
  intent.workload.global_batch_size = Number(r, "gbs").value_or(0);
  // The performance recipes are benchmarks with forced balance unless they say otherwise.
  const bool library = recipe.origin == "bridge_library_recipe" || recipe.origin == "loongforge_example";
  const bool benchmark = Flag(extra, "force_load_balancing").value_or(!library);
  intent.workload.objective = benchmark ? Objective::kBenchmark : Objective::kTraining;
  intent.stage = Stage::kProduction;

  auto size = [&](const char* name) { return Number(r, name); };
  intent.layout.tensor_model_parallel_size = size("tp");
  intent.layout.pipeline_model_parallel_size = size("pp");
  intent.layout.virtual_pipeline_model_parallel_size = size("vp");
  intent.layout.context_parallel_size = size("cp").value_or(1);
  if (model->is_moe()) {
    intent.layout.expert_model_parallel_size = size("ep").value_or(1);
    intent.layout.expert_tensor_parallel_size = size("etp").value_or(1);
  }
  intent.layout.micro_batch_size = size("mbs");
  if (std::string layout = Text(extra, "pp_layout"); !layout.empty())
    intent.layout.pipeline_model_parallel_layout = layout;
  // What a recipe says about the precision of weights, gradients and optimizer states belongs to its precision.
  auto pin = [&](Knob knob, Value value) { intent.pins.emplace_back(knob, std::move(value)); };
  // The tables print what Bridge's performance recipes ran (dgxc-benchmarking@c84bc9b80 llama3.1/launch.sh:251 calls
  // its scripts/performance), and those reduce gradients in bf16 (Megatron-Bridge@067f987df
  // perf_recipes/_common.py:73).
  if (recipe.origin == "bridge_perf_recipe" || recipe.origin == "bridge_workload_config" ||
      recipe.origin == "bridge_perf_doc" || recipe.origin == "dgxc_readme") {
    pin(Knob::grad_reduce_in_fp32, Value(false));
  }
  // Its named recipes of these precisions keep the weights themselves in FP8 (training/mixed_precision.py:231, 264,
  // 302).
  const bool table = recipe.origin == "bridge_perf_doc" || recipe.origin == "dgxc_readme";
  const bool named = *precision == Precision::kFp8Tensorwise || *precision == Precision::kFp8Delayed ||
                     *precision == Precision::kMxfp8;
  if (Flag(extra, "fp8_param_gather").value_or(table && named)) pin(Knob::fp8_param_gather, Value(true));
  if (Flag(extra, "precision_aware_optimizer").value_or(false)) {
    pin(Knob::use_precision_aware_optimizer, Value(true));
    if (Text(extra, "exp_avg_dtype") == "bfloat16") {
      pin(Knob::exp_avg_dtype, Value("bf16"));
      pin(Knob::exp_avg_sq_dtype, Value("bf16"));
    }
  }
  // A layout string may place an MTP layer that the published checkpoint's configuration does not have.
  if (auto mtp = Number(extra, "mtp_num_layers"); mtp.has_value()) pin(Knob::mtp_num_layers, Value(*mtp));
  if (Flag(extra, "fsdp").value_or(false)) {
    pin(Knob::use_megatron_fsdp, Value(true));
    if (const std::string sharding = Text(extra, "fsdp_sharding"); !sharding.empty()) {
      pin(Knob::data_parallel_sharding_strategy, Value(sharding));
    }
  }

  Environment& env = intent.env;
  env.target = Target::kMegatronBridge;
  env.bridge_release = BridgeRelease(recipe.release);
  env.core_release = StackOf(env).core_release(env.bridge_release);
  if (recipe.origin == "modelzoo_script" || recipe.origin == "modelzoo_readme" || recipe.origin == "paper" ||
      recipe.origin == "mcore_discussion") {
    env.target = Target::kMegatronLm;
    // What its images install (Megatron-MoE-ModelZoo@e8650517 dockers/H100.Dockerfile:77, B200.Dockerfile:49,
    // GB200.Dockerfile:65: the branch hybrid-ep, which holds both).
    env.capabilities = {"deepep"};
    if (intent.gpu.nvlink_domain_gpus > intent.gpu.gpus_per_node) env.capabilities.insert("hybridep");
  } else {
    env.capabilities = {"deepep"};
    if (intent.gpu.nvlink_domain_gpus > intent.gpu.gpus_per_node || HybridepRunsInNodes(recipe.release)) {
      env.capabilities.insert("hybridep");
    }
    if (env.bridge_release >= 5) env.capabilities.insert("paged_stash");
  }
  env.capabilities_known = true;
  env.mla = model->is_mla();
  env.te = Version::Parse("2.15.0");
  env.torch = Version::Parse("2.11.0");
  env.cuda = Version::Parse("13.1");
  env.gpu_name = intent.gpu.device_name;
  env.cc_major = intent.gpu.cc_major;
  env.cc_minor = intent.gpu.cc_minor;
  env.world_size = recipe.gpus;
  env.nvlink_domain_gpus = static_cast<int>(intent.gpu.nvlink_domain_gpus);
  env.gpus_per_node = static_cast<int>(intent.gpu.gpus_per_node);
  return intent;
}

absl::StatusOr<std::vector<Recipe>> ReadRecipes(const char* path) {
  std::vector<Recipe> recipes;
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string content, ReadDataFile(path));
  for (absl::string_view line : absl::StrSplit(content, '\n', absl::SkipEmpty())) {
    Recipe recipe;
    recipe.json.Parse(line.data(), line.size());
    if (recipe.json.HasParseError() || !recipe.json.IsObject() || !recipe.json.HasMember("extra")) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": line ", recipes.size() + 1, " is no recipe"));
    }
    const rapidjson::Value& r = recipe.json;
    recipe.id = Text(r, "id");
    recipe.origin = Text(r, "origin");
    recipe.release = Text(r, "release");
    recipe.model = Text(r, "model");
    recipe.gpu = Text(r, "gpu");
    recipe.precision = Text(r, "precision");
    recipe.gpus = Number(r, "num_gpus").value_or(0);
    recipe.starter = !Flag(r["extra"], "tuned").value_or(true);
    recipe.layout_check = r["extra"].HasMember("layout_check");
    recipes.push_back(std::move(recipe));
  }
  if (recipes.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": no recipes read"));
  MarkSuperseded(&recipes);
  return recipes;
}

}  // namespace flightplan
