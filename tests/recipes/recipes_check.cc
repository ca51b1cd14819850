// How far our decisions agree with published recipes:  recipes_check FILE.jsonl[.gz] [--show K] [--knob NAME] [--min
// LIST]
//
// Each recipe's model, GPU, layout, batch and precision are resolved, and what we decide is compared with what the
// recipe sets. A recipe field that is null is skipped. Three groups are kept apart: `current` (the newest release that
// publishes a row for the same model, GPU, GPU count and precision), `superseded` (an older release whose row a newer
// one replaced, which says what used to pay) and `starter` (library recipes that their authors mark as untuned).
// Recipes flagged layout_check cannot run on their own GPU count: they must be refused.
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "rapidjson/document.h"
#include "resolver/catalog/catalog.h"
#include "resolver/derive/start_config.h"
#include "resolver/engine/settle.h"
#include "resolver/rules/decide/decide.h"

namespace flightplan {
namespace {

struct Recipe {
  std::string id, origin, release, model, gpu, precision;
  int64_t gpus = 0;
  bool starter = false, layout_check = false, superseded = false;
  rapidjson::Document json;
};

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

std::string ReadAll(const char* path) {
  std::string text;
  gzFile file = gzopen(path, "rb");
  if (file == nullptr) return text;
  char buffer[1 << 16];
  for (int n = 0; (n = gzread(file, buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<size_t>(n));
  gzclose(file);
  return text;
}

// Releases in order of age; other stacks (model zoo scripts, papers) replace nothing and are never replaced.
int Rank(const std::string& release) {
  if (release == "main") return 100;
  std::vector<std::string> parts = absl::StrSplit(release, '.');
  int minor = 0;
  if (parts.size() >= 2 && release[0] == 'v' && parts[0] == "v0" && absl::SimpleAtoi(parts[1], &minor)) return minor;
  return -1;
}

int BridgeRelease(const std::string& release) {
  const int rank = Rank(release);
  return rank < 0 || rank == 100 ? kMain : std::max(4, rank);
}

// The Megatron-Core release that a Bridge release carries.
int CoreRelease(int bridge) {
  switch (bridge) {
    case 4:
      return 16;
    case 5:
      return 18;
    case 6:
      return 19;
    default:
      return kMain;
  }
}

const ModelSpec* FindRecipeModel(const Catalog& catalog, const Recipe& recipe) {
  if (auto model = catalog.FindModel(recipe.model); model.ok()) return *model;
  const rapidjson::Value& extra = recipe.json["extra"];
  if (auto model = catalog.FindModel(Text(extra, "hf_model")); model.ok()) return *model;
  // A short name is a unique beginning of the catalogue's: "moonlight_16b" is "moonlight-16b-a3b".
  auto squeeze = [](absl::string_view name) { return absl::StrReplaceAll(name, {{"_", ""}, {"-", ""}, {".", ""}}); };
  const std::string wanted = absl::StrReplaceAll(squeeze(recipe.model), {{"llama3", "llama31"}});
  const ModelSpec* found = nullptr;
  for (const ModelSpec& model : catalog.models()) {
    if (squeeze(model.name).rfind(wanted, 0) != 0) continue;
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
  if (recipe.origin == "bridge_perf_recipe" || recipe.origin == "bridge_workload_config") {
    pin(Knob::grad_reduce_in_fp32, Value(false));  // Megatron-Bridge@067f987df perf_recipes/_common.py:73
  }
  if (Flag(extra, "fp8_param_gather").value_or(false)) pin(Knob::fp8_param_gather, Value(true));
  if (Flag(extra, "precision_aware_optimizer").value_or(false)) {
    pin(Knob::use_precision_aware_optimizer, Value(true));
    if (Text(extra, "exp_avg_dtype") == "bfloat16") {
      pin(Knob::exp_avg_dtype, Value("bf16"));
      pin(Knob::exp_avg_sq_dtype, Value("bf16"));
    }
  }
  // A layout string may place an MTP layer that the published checkpoint's configuration does not have.
  if (auto mtp = Number(extra, "mtp_num_layers"); mtp.has_value()) pin(Knob::mtp_num_layers, Value(*mtp));
  if (Flag(extra, "fsdp").value_or(false)) pin(Knob::use_megatron_fsdp, Value(true));

  Environment& env = intent.env;
  env.target = Target::kMegatronBridge;
  env.bridge_release = BridgeRelease(recipe.release);
  env.core_release = CoreRelease(env.bridge_release);
  if (recipe.origin == "modelzoo_script" || recipe.origin == "modelzoo_readme" || recipe.origin == "paper") {
    env.target = Target::kMegatronLm;
    env.capabilities = {"deepep"};  // what that image installs
  } else {
    env.capabilities = {"deepep", "hybridep"};
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

// ---- what is compared

struct Comparison {
  std::string published, ours;
};

std::string Bool(const Value& value) { return value.truthy() ? "on" : "off"; }
std::string Bool(bool value) { return value ? "on" : "off"; }

std::vector<std::string> Strings(const rapidjson::Value& object, const char* name) {
  std::vector<std::string> out;
  auto it = object.FindMember(name);
  if (it == object.MemberEnd() || !it->value.IsArray()) return out;
  for (const auto& item : it->value.GetArray()) out.emplace_back(item.GetString());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> Strings(const Value& value) {
  std::vector<std::string> out;
  for (const Value& item : value.list()) out.emplace_back(item.text());
  std::sort(out.begin(), out.end());
  return out;
}

using Comparisons = std::map<std::string, Comparison>;

Comparisons Compare(const Recipe& recipe, const ModelSpec& model, const Config& config) {
  const rapidjson::Value& r = recipe.json;
  Comparisons out;
  if (model.is_moe()) {
    if (std::string published = Text(r, "dispatcher"); !published.empty()) {
      const absl::string_view type = config.Get(Knob::moe_token_dispatcher_type).text();
      out["dispatcher"] = {published,
                           std::string(type == "flex" ? config.Get(Knob::moe_flex_dispatcher_backend).text() : type)};
    }
    auto flag = [&](const char* field, const char* name, Knob knob) {
      if (auto published = Flag(r, field); published.has_value())
        out[name] = {Bool(*published), Bool(config.Get(knob))};
    };
    flag("moe_a2a_overlap", "ep-overlap", Knob::overlap_moe_expert_parallel_comm);
    flag("delay_wgrad", "delay-wgrad", Knob::delay_wgrad_compute);
    flag("shared_expert_overlap", "shared-expert-overlap", Knob::moe_shared_expert_overlap);
  }
  if (auto published = Flag(r, "tp_overlap"); published.has_value() && Number(r, "tp").value_or(1) > 1) {
    out["tp-overlap"] = {Bool(*published), Bool(config.Get(Knob::tp_comm_overlap))};
  }
  if (std::string published = Text(r, "cuda_graph_impl"); !published.empty()) {
    // A local capture of the full iteration is what later releases call full_iteration.
    const std::vector<std::string> scope = Strings(r, "cuda_graph_scope");
    if (published == "local" && std::find(scope.begin(), scope.end(), "full_iteration") != scope.end()) {
      published = "full_iteration";
    }
    out["graph-impl"] = {published, std::string(config.Get(Knob::cuda_graph_impl).text())};
  }
  if (std::string published = Text(r, "recompute_granularity"); !published.empty()) {
    const std::vector<std::string> modules = Strings(r, "recompute_modules");
    // "selective" with an empty list recomputes nothing; with the list unset, the stack fills in core_attn.
    const bool nothing =
        published == "selective" && modules.empty() && !Flag(r["extra"], "recompute_modules_unset").value_or(false);
    const bool on = published != "none" && !nothing;
    const bool ours = !config.Get(Knob::recompute_granularity).is_none();
    out["recompute"] = {Bool(on), Bool(ours)};
    if (on && ours && published == "selective" && config.Get(Knob::recompute_granularity).text() == "selective") {
      out["recompute-modules"] = {absl::StrJoin(modules, ","),
                                  absl::StrJoin(Strings(config.Get(Knob::recompute_modules)), ",")};
    }
  }
  return out;
}

// The decision behind a compared knob.
const Decision* DecisionOf(const DecidedPlan& plan, const std::string& name) {
  static const std::map<std::string, Knob> kKnobs = {
      {"dispatcher", Knob::moe_token_dispatcher_type}, {"ep-overlap", Knob::overlap_moe_expert_parallel_comm},
      {"delay-wgrad", Knob::delay_wgrad_compute},      {"shared-expert-overlap", Knob::moe_shared_expert_overlap},
      {"tp-overlap", Knob::tp_comm_overlap},           {"graph-impl", Knob::cuda_graph_impl},
      {"recompute", Knob::recompute_granularity},      {"recompute-modules", Knob::recompute_granularity}};
  auto it = kKnobs.find(name);
  if (it == kKnobs.end()) return nullptr;
  for (const Decision& decision : plan.decisions) {
    if (decision.env_var.empty() && decision.knob == it->second) return &decision;
  }
  return nullptr;
}

struct Tally {
  int agree = 0, total = 0;
  double percent() const { return total == 0 ? 100 : 100.0 * agree / total; }
};

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

int Main(int argc, char** argv) {
  const char* path = nullptr;
  int show = 0;
  std::string only;
  std::map<std::string, double> minimum;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--show" && i + 1 < argc) {
      show = std::atoi(argv[++i]);
    } else if (arg == "--knob" && i + 1 < argc) {
      only = argv[++i];
    } else if (arg == "--min" && i + 1 < argc) {  // dispatcher=90,ep-overlap=90: fails below, on the current rows
      for (absl::string_view item : absl::StrSplit(argv[++i], ',')) {
        std::vector<std::string> parts = absl::StrSplit(item, '=');
        if (parts.size() == 2) minimum[parts[0]] = std::atof(parts[1].c_str());
      }
    } else {
      path = argv[i];
    }
  }
  if (path == nullptr) {
    std::fprintf(stderr, "usage: recipes_check FILE.jsonl[.gz] [--show K] [--knob NAME] [--min knob=percent,...]\n");
    return 2;
  }
  absl::StatusOr<Catalog> catalog = Catalog::Builtin();
  if (!catalog.ok()) {
    std::fprintf(stderr, "%s\n", catalog.status().ToString().c_str());
    return 2;
  }
  std::vector<Recipe> recipes;
  const std::string content = ReadAll(path);
  for (absl::string_view line : absl::StrSplit(content, '\n', absl::SkipEmpty())) {
    Recipe recipe;
    recipe.json.Parse(line.data(), line.size());
    if (recipe.json.HasParseError() || !recipe.json.IsObject() || !recipe.json.HasMember("extra")) {
      std::fprintf(stderr, "%s: a line is no recipe\n", path);
      return 2;
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
  if (recipes.empty()) {
    std::fprintf(stderr, "%s: no recipes read\n", path);
    return 2;
  }
  MarkSuperseded(&recipes);

  std::map<std::string, std::map<std::string, Tally>> tallies;  // knob -> group
  std::map<std::string, int> skipped;
  int resolved = 0, with_errors = 0, refused = 0, layout_checks = 0, shown = 0;
  for (const Recipe& recipe : recipes) {
    std::string why;
    std::optional<NormalizedIntent> intent = MakeIntent(*catalog, recipe, &why);
    if (!intent.has_value()) {
      ++skipped[absl::StrCat(why, " (", recipe.model, ", ", recipe.gpu.empty() ? "-" : recipe.gpu, ")")];
      continue;
    }
    ++resolved;
    SettledPlan settled = Settle(Decide(*intent, Derive(*intent)), intent->env);
    std::vector<const Finding*> errors;
    for (const std::vector<Finding>* list : {&settled.plan.findings, &settled.run.findings}) {
      for (const Finding& finding : *list) {
        if (finding.severity == Severity::kError) errors.push_back(&finding);
      }
    }
    if (recipe.layout_check) {
      ++layout_checks;
      if (!errors.empty()) ++refused;
      if (show > 0) {
        std::printf("layout_check %s: %s\n", recipe.id.c_str(),
                    errors.empty() ? "NOT REFUSED" : errors[0]->seen.c_str());
      }
      continue;
    }
    if (!errors.empty() && intent->model.is_moe()) {
      ++with_errors;
      if (show > 0) {
        for (const Finding* error : errors) {
          std::printf("error %s: %s: %s\n", recipe.id.c_str(), std::string(error->rule_id).c_str(),
                      error->seen.c_str());
        }
      }
    }
    const std::string group = recipe.superseded ? "superseded" : recipe.starter ? "starter" : "current";
    for (const auto& [name, values] : Compare(recipe, intent->model, settled.plan.config)) {
      Tally& tally = tallies[name][group];
      ++tally.total;
      if (values.published == values.ours) {
        ++tally.agree;
        continue;
      }
      if ((!only.empty() && only != name) || shown >= show) continue;
      ++shown;
      const Decision* decision = DecisionOf(settled.plan, name);
      std::printf("%-10s %-20s %s: published %s, ours %s%s%s\n", group.c_str(), name.c_str(), recipe.id.c_str(),
                  values.published.c_str(), values.ours.c_str(), decision != nullptr ? "; " : "",
                  decision != nullptr ? decision->reason.c_str() : "");
    }
  }

  std::printf("%d recipes resolved of %d; MoE recipes with error findings %d; layout_check refused %d of %d\n",
              resolved, static_cast<int>(recipes.size()), with_errors, refused, layout_checks);
  for (const auto& [reason, count] : skipped) std::printf("  skipped %d: %s\n", count, reason.c_str());
  std::printf("%-22s %18s %18s %18s %18s\n", "agreement", "current", "superseded", "starter", "all");
  bool failed = false;
  if (auto it = minimum.find("without-errors"); it != minimum.end()) {
    failed |= Tally{resolved - with_errors, resolved}.percent() < it->second;
  }
  if (auto it = minimum.find("layout-check"); it != minimum.end()) {
    failed |= Tally{refused, layout_checks}.percent() < it->second;
  }
  for (auto& [name, groups] : tallies) {
    Tally all;
    std::printf("%-22s", name.c_str());
    for (const char* group : {"current", "superseded", "starter"}) {
      const Tally& tally = groups[group];
      all.agree += tally.agree;
      all.total += tally.total;
      std::printf(" %18s",
                  absl::StrCat(tally.agree, "/", tally.total, " ", static_cast<int>(tally.percent()), "%").c_str());
    }
    std::printf(" %18s\n", absl::StrCat(all.agree, "/", all.total, " ", static_cast<int>(all.percent()), "%").c_str());
    auto it = minimum.find(name);
    if (it != minimum.end() && groups["current"].percent() < it->second) {
      std::printf("  %s is below the level reached before: %.1f < %.1f\n", name.c_str(), groups["current"].percent(),
                  it->second);
      failed = true;
    }
  }
  return !minimum.empty() && failed ? 1 : 0;
}

}  // namespace
}  // namespace flightplan

int main(int argc, char** argv) { return flightplan::Main(argc, argv); }
