// What the planner chooses for well-known models beside what their publishers chose:  plan_table RECIPES.jsonl[.gz]
// FILE
//
// Rewrites the table between the two marker lines of FILE (tests/plans/PLANS.md); with --check, says when it is stale.
// "rel." is the publisher's layout at the same GPU count, judged by the same model, against the choice; the parts that
// differ most follow, in per cent of the choice's step.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "resolver/estimate/step_model.h"
#include "tests/plans/plan_rows.h"

namespace flightplan {
namespace {

constexpr char kBegin[] = "<!-- plans: begin -->\n";
constexpr char kEnd[] = "<!-- plans: end -->\n";
constexpr double kSmallPart = 0.01;  // of the step: not worth naming

struct Question {
  const char* model;
  const char* gpu;
  int64_t gpus[2];
  int64_t samples_per_gpu;  // of the global batch, as published
  int64_t seq;
  LayoutSizes published;  // tp 0: nothing is published for this GPU
  const char* source;     // below NVIDIA-NeMo/Megatron-Bridge@067f987df:src/megatron/bridge/perf_recipes, BF16
};
constexpr Question kQuestions[] = {
    {"deepseek-v3", "h100", {512, 1024}, 16, 4096, {2, 8, 4, 1, 64, 1, 1}, "deepseek/h100/deepseek_v3.py"},
    {"deepseek-v3", "b200", {256, 1024}, 16, 4096, {1, 16, 1, 1, 8, 1, 1}, "deepseek/b200/deepseek_v3.py"},
    {"deepseek-v3", "gb200", {256, 1024}, 16, 4096, {1, 4, 4, 1, 64, 1, 1}, "deepseek/gb200/deepseek_v3.py"},
    {"qwen3-235b-a22b", "h100", {256, 512}, 32, 4096, {2, 8, 4, 1, 32, 1, 1}, "qwen/h100/qwen3_moe.py"},
    {"qwen3-235b-a22b", "b200", {64, 256}, 32, 4096, {1, 8, 4, 1, 8, 1, 1}, "qwen/b200/qwen3_moe.py"},
    {"qwen3-235b-a22b", "gb200", {64, 256}, 32, 4096, {1, 8, 1, 1, 8, 1, 1}, "qwen/gb200/qwen3_moe.py"},
    {"kimi-k2", "h100", {1024, 2048}, 8, 4096, {8, 16, 2, 1, 64, 1, 1}, "kimi/h100/kimi_k2.py"},
    {"kimi-k2", "b200", {256, 512}, 8, 4096, {1, 16, 1, 1, 16, 1, 1}, "kimi/b200/kimi_k2.py"},
    {"kimi-k2", "gb200", {256, 512}, 8, 4096, {1, 4, 4, 1, 64, 1, 1}, "kimi/gb200/kimi_k2.py"},
    {"mixtral-8x22b", "h100", {128, 256}, 2, 4096, {2, 8, 7, 1, 8, 1, 1}, "tests/data/recipes.jsonl.gz"},
    {"mixtral-8x22b", "b200", {64, 256}, 2, 4096, {}, ""},
    {"mixtral-8x22b", "gb200", {64, 256}, 2, 4096, {}, ""},
    {"llama-3.1-405b", "h100", {512, 1024}, 2, 8192, {8, 8, 8, 2, 1, 1, 1}, "llama/h100/llama31.py"},
    {"llama-3.1-405b", "b200", {128, 256}, 6, 8192, {4, 16, 8, 1, 1, 1, 1}, "llama/b200/llama31.py"},
    {"llama-3.1-405b", "gb200", {128, 256}, 6, 8192, {4, 16, 8, 1, 1, 1, 1}, "llama/gb200/llama31.py"},
};

std::optional<NormalizedIntent> Ask(const Catalog& catalog, const Question& question, int64_t gpus) {
  const auto model = catalog.FindModel(question.model);
  const auto system = catalog.FindGpu(question.gpu);
  if (!model.ok() || !system.ok()) return std::nullopt;
  NormalizedIntent intent;
  intent.model = **model;
  intent.gpu = **system;
  intent.gpu_count = gpus;
  intent.workload.precision = Precision::kBf16;
  intent.workload.seq_length = question.seq;
  intent.workload.global_batch_size = gpus * question.samples_per_gpu;
  intent.workload.objective = Objective::kBenchmark;
  Environment& env = intent.env;
  env.target = Target::kMegatronBridge;
  env.bridge_release = env.core_release = kMain;
  env.capabilities = {"deepep", "hybridep"};
  env.capabilities_known = true;
  env.mla = intent.model.is_mla();
  env.te = Version::Parse("2.15.0");
  env.torch = Version::Parse("2.11.0");
  env.cuda = Version::Parse("13.1");
  env.gpu_name = intent.gpu.device_name;
  env.cc_major = intent.gpu.cc_major;
  env.cc_minor = intent.gpu.cc_minor;
  env.world_size = gpus;
  env.nvlink_domain_gpus = static_cast<int>(intent.gpu.nvlink_domain_gpus);
  env.gpus_per_node = static_cast<int>(intent.gpu.gpus_per_node);
  return intent;
}

std::string ExecutionText(const Candidate& c, bool moe) {
  std::vector<std::string> parts;
  if (moe && c.ep > 1) {
    const char* dispatcher = c.dispatcher == Dispatcher::kDeepEp     ? "DeepEP"
                             : c.dispatcher == Dispatcher::kHybridEp ? "HybridEP"
                                                                     : "all-to-all";
    parts.push_back(absl::StrCat(dispatcher, c.ep_overlap ? ", EP overlap" : ""));
  }
  if (c.graphs != GraphImpl::kNone) parts.emplace_back("graphs");
  if (c.recompute == RecomputeMode::kSelective) parts.emplace_back("selective recompute");
  if (c.recompute == RecomputeMode::kFullUniform) parts.emplace_back("full recompute");
  return absl::StrJoin(parts, ", ");
}

// "bubble +4, exchange -1": what the other layout's step has more of, in per cent of ours.
std::string WhyText(const StepForecast& ours, const StepForecast& theirs) {
  const StepParts &a = ours.parts, &b = theirs.parts;
  std::vector<std::pair<double, const char*>> parts = {
      {b.matmul - a.matmul, "GEMMs"},
      {b.attention - a.attention, "attention"},
      {b.memory_bound - a.memory_bound, "memory-bound kernels"},
      {b.recompute - a.recompute, "recompute"},
      {b.expert_exchange - a.expert_exchange, "expert exchange"},
      {b.tensor_parallel - a.tensor_parallel, "TP transfers"},
      {b.context_parallel - a.context_parallel, "CP transfers"},
      {b.pipeline_transfer - a.pipeline_transfer, "pipeline transfers"},
      {b.data_parallel - a.data_parallel, "DP transfers"},
      {b.host - a.host, "host"},
      {b.bubble - a.bubble, "bubble"},
      {b.optimizer - a.optimizer, "optimizer"}};
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& x, const auto& y) { return std::abs(x.first) > std::abs(y.first); });
  std::vector<std::string> said;
  for (const auto& [us, name] : parts) {
    if (said.size() < 3 && std::abs(us) >= kSmallPart * ours.us) {
      said.push_back(absl::StrFormat("%s %+.0f", name, us / ours.us * 100));
    }
  }
  return absl::StrJoin(said, ", ");
}

std::string Line(const Catalog& catalog, const Question& question, int64_t gpus) {
  const std::optional<NormalizedIntent> intent = Ask(catalog, question, gpus);
  std::string line = absl::StrCat("| ", question.model, " | ", question.gpu, " | ", gpus, " | ");
  if (!intent.has_value()) return absl::StrCat(line, "not in the catalogue | | | | | |\n");
  const bool moe = intent->model.is_moe();
  LayoutSearch search;
  if (!PrepareSearch(*intent, &search).ok()) return absl::StrCat(line, "cannot be counted | | | | | |\n");
  search.question.keep_alike = kKeepAlike;
  std::vector<DistinctPlan> plans;
  for (const double room : kRooms) {
    search.question.room = room;
    plans = Distinct(*intent, Search(search.question).plans, 1);
    if (!plans.empty()) break;
  }
  if (plans.empty()) return absl::StrCat(line, "nothing fits | | | | | |\n");
  const FoundPlan& best = plans.front().plan;
  absl::StrAppend(&line, SizesText(best.sizes, moe), " | ", ExecutionText(best.candidate, moe), " | ",
                  absl::StrFormat("%.2f s, %.0f GiB", best.step.us / 1e6, best.memory.value / (1u << 30)),
                  best.fit == FitVerdict::kMarginal ? ", marginal | " : " | ");
  if (question.published.tp == 0) return absl::StrCat(line, "nothing for this GPU | | |\n");
  absl::StrAppend(&line, SizesText(question.published, moe), " | ");
  const JudgedLayout judged = JudgeLayout(*intent, question.published, std::nullopt);
  if (!judged.legal) return absl::StrCat(line, "| its sizes do not divide ", gpus, " GPUs |\n");
  if (!judged.plan.has_value()) return absl::StrCat(line, "| does not fit, executed in any way that is searched |\n");
  return absl::StrCat(line, absl::StrFormat("%+.1f %%", (judged.plan->step.us / best.step.us - 1) * 100),
                      judged.plan->fit == FitVerdict::kMarginal ? ", marginal | " : " | ",
                      WhyText(best.step, judged.plan->step), " |\n");
}

std::string MakeTable(const Catalog& catalog) {
  std::string table =
      "\n| model | GPU | GPUs | chosen | executed | step, fullest GPU | published | rel. | more of (% of the step) |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  for (const Question& question : kQuestions) {
    for (int64_t gpus : question.gpus) table += Line(catalog, question, gpus);
  }
  absl::StrAppend(
      &table, "\nPublished layouts, below NVIDIA-NeMo/Megatron-Bridge@067f987df:src/megatron/bridge/perf_recipes:\n\n");
  for (const Question& question : kQuestions) {
    if (question.published.tp > 0)
      absl::StrAppend(&table, "- ", question.model, ", ", question.gpu, ": ", question.source, "\n");
  }
  return table + "\n";
}

int Main(int argc, char** argv) {
  const bool check = argc == 3 && std::strcmp(argv[2], "--check") == 0;
  if (argc != 2 && !check) {
    std::fprintf(stderr, "usage: plan_table PLANS.md [--check]\n");
    return 2;
  }
  const absl::StatusOr<Catalog> catalog = Catalog::Builtin();
  if (!catalog.ok()) {
    std::fprintf(stderr, "%s\n", catalog.status().ToString().c_str());
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  const std::string page((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const size_t begin = page.find(kBegin), end = page.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    std::fprintf(stderr, "%s has no %s", argv[1], kBegin);
    return 2;
  }
  const std::string fresh = absl::StrCat(page.substr(0, begin), kBegin, MakeTable(*catalog), page.substr(end));
  if (check) {
    if (fresh == page) return 0;
    std::fprintf(stderr, "%s is stale: cmake --build --preset release --target update_plan_table\n", argv[1]);
    return 1;
  }
  std::ofstream(argv[1], std::ios::binary) << fresh;
  return 0;
}

}  // namespace
}  // namespace flightplan

int main(int argc, char** argv) { return flightplan::Main(argc, argv); }
