// Layouts that no expert would run:  oddness_check [--count N] [--seed S] [--show M] [--most K]
//
// Random questions over every model of the catalogue, the GPUs that training runs are published for, and sizes of 8 to
// 1,024 GPUs, each with its whole layout open. What is chosen is odd where it has
//
//   cp        context parallelism at a sequence of 8,192 or less, with TP inside a node
//   pp        a pipeline of more than 4 without virtual stages
//   dp        no data parallelism
//   domain    TP x CP beyond the NVLink domain
//   etp       expert tensor parallelism
//   mbs       several sequences a microbatch, with recompute
//
// and another layout that has none of these leaves as much room in memory and is accepted. Where there is none, the
// choice is counted as "only", with its kind.
// Exit status: 0 at most K odd choices (default none), 1 more, or nothing could be asked, 2 misuse.
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/catalog/catalog.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/layouts/layout_search.h"
#include "resolver/layouts/open_layout.h"
#include "resolver/layouts/plan_answers.h"
#include "resolver/normalize/resolve_request.h"
#include "tests/plans/plan_rows.h"

namespace flightplan {
namespace {

constexpr const char* kGpus[] = {"h100-sxm", "h200-sxm", "b200-sxm", "gb200-nvl72"};
constexpr int kCounts[] = {8, 32, 64, 128, 256, 512, 1024};
constexpr int kSequences[] = {4096, 4096, 8192};
constexpr size_t kAlternatives = 24;  // that go through the whole pipeline

v1::ResolveConfigRequest Question(const Catalog& catalog, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](const auto& list) -> decltype(auto) { return list[random() % std::size(list)]; };
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name(pick(catalog.models()).name);
  request.mutable_hardware()->set_gpu(pick(kGpus));
  const int gpus = pick(kCounts);
  request.mutable_hardware()->set_gpu_count(gpus);
  request.mutable_workload()->set_seq_length(pick(kSequences));
  request.mutable_workload()->set_global_batch_size(int64_t{gpus} * 8);
  request.mutable_target()->set_framework("megatron-bridge");
  request.mutable_software()->mutable_dispatchers();  // none: what is odd is so for all of them
  return request;
}

std::string CommandLine(const v1::ResolveConfigRequest& r) {
  return absl::StrCat("flightplan resolve --model ", r.model().name(), " --gpu ", r.hardware().gpu(), " --gpus ",
                      r.hardware().gpu_count(), " --seq ", r.workload().seq_length(), " --gbs ",
                      r.workload().global_batch_size(), " --target ", r.target().framework());
}

LayoutSizes SizesOf(const Config& config) {
  const auto size = [&](Knob knob) { return static_cast<int32_t>(std::max<int64_t>(1, config.Get(knob).integer())); };
  return {size(Knob::tensor_model_parallel_size),
          size(Knob::pipeline_model_parallel_size),
          size(Knob::virtual_pipeline_model_parallel_size),
          size(Knob::context_parallel_size),
          size(Knob::expert_model_parallel_size),
          size(Knob::expert_tensor_parallel_size),
          size(Knob::micro_batch_size)};
}

bool Recomputes(const Config& config) { return !config.Get(Knob::recompute_granularity).is_none(); }

// The kinds of oddness of a plan; `node`: GPUs of one node.
std::vector<std::string> Kinds(const LayoutSizes& s, bool recompute, const CautionContext& context, int64_t node) {
  std::vector<std::string> kinds;
  if (s.cp > 1 && context.seq_length <= 8192 && s.tp <= node) kinds.emplace_back("cp");
  if (s.pp > 4 && s.vpp <= 1) kinds.emplace_back("pp");
  if (context.gpus > 1 && context.gpus == int64_t{s.tp} * s.cp * s.pp) kinds.emplace_back("dp");
  if (int64_t{s.tp} * s.cp > context.domain_gpus) kinds.emplace_back("domain");
  if (context.moe && s.etp > 1) kinds.emplace_back("etp");
  if (s.micro_batch_size > 1 && recompute) kinds.emplace_back("mbs");
  return kinds;
}

struct Tally {
  int64_t asked = 0, even = 0, odd = 0;
  std::map<std::string, int64_t> odd_kinds, only_kinds;
};

class Checker {
 public:
  Checker(const Catalog& catalog, int show) : catalog_(catalog), show_(show) {}
  void Check(uint64_t seed);
  int Report(int64_t most) const;

 private:
  // The best accepted plan without any oddness that fits no worse.
  std::optional<PlanAnswer> Alternative(const NormalizedIntent& intent, const ResolvedPlan& chosen) const;

  const Catalog& catalog_;
  const int64_t show_;
  Tally tally_;
};

std::optional<PlanAnswer> Checker::Alternative(const NormalizedIntent& intent, const ResolvedPlan& chosen) const {
  LayoutSearch search;
  if (!PrepareSearch(intent, &search).ok()) return std::nullopt;
  SearchQuestion& question = search.question;
  const CautionContext context = *question.caution;
  const int64_t node = intent.gpu.gpus_per_node;
  question.layout.allowed = [&](const LayoutSizes& sizes) { return Kinds(sizes, false, context, node).empty(); };
  question.keep = kAlternatives;
  question.keep_alike = 2;
  for (const double room : kRooms) {
    question.room = room;
    PlanAnswers answers;
    if (!AnswerPlans(intent, search, Search(question), EvidenceSnapshot::Empty(), &answers).ok()) return std::nullopt;
    for (PlanAnswer& plan : answers.plans) {
      const bool as_good = plan.plan.estimate.fit <= chosen.estimate.fit;
      if (as_good && Kinds(plan.sizes, Recomputes(plan.plan.decided.config), context, node).empty()) {
        return std::move(plan);
      }
    }
    if (MostMemory(chosen) <= kRooms[0] * question.memory.capacity) break;
  }
  return std::nullopt;
}

void Checker::Check(uint64_t seed) {
  const v1::ResolveConfigRequest request = Question(catalog_, seed);
  const absl::StatusOr<NormalizedIntent> intent = NormalizeResolve(request, catalog_);
  if (!intent.ok()) return;
  const absl::StatusOr<ResolvedPlan> chosen = ResolveOpenLayout(*intent, EvidenceSnapshot::Empty());
  if (!chosen.ok() || chosen->step == nullptr || !Launchable(*chosen)) return;
  ++tally_.asked;
  const LayoutSizes sizes = SizesOf(chosen->decided.config);
  const bool moe = intent->model.is_moe();
  const CautionContext context{moe, intent->gpu_count, intent->workload.seq_length,
                               static_cast<int>(intent->gpu.nvlink_domain_gpus)};
  const std::vector<std::string> kinds =
      Kinds(sizes, Recomputes(chosen->decided.config), context, intent->gpu.gpus_per_node);
  if (kinds.empty()) {
    ++tally_.even;
    return;
  }
  const std::optional<PlanAnswer> other = Alternative(*intent, *chosen);
  for (const std::string& kind : kinds) ++(other.has_value() ? tally_.odd_kinds : tally_.only_kinds)[kind];
  if (!other.has_value()) return;
  if (++tally_.odd <= show_) {
    std::printf("%s: %s %.3f s, %.0f GiB, %s; without: %s %.3f s (%+.1f %%), %.0f GiB, %s\n    %s\n",
                kinds.front().c_str(), SizesText(sizes, moe).c_str(), chosen->step_us() / 1e6,
                MostMemory(*chosen) / (1 << 30), std::string(Name(chosen->estimate.fit)).c_str(),
                SizesText(other->sizes, moe).c_str(), other->plan.step_us() / 1e6,
                100 * (other->plan.step_us() / chosen->step_us() - 1), MostMemory(other->plan) / (1 << 30),
                std::string(Name(other->plan.estimate.fit)).c_str(), CommandLine(request).c_str());
  }
}

int Checker::Report(int64_t most) const {
  std::printf("%lld answered, %lld odd\n", static_cast<long long>(tally_.asked), static_cast<long long>(tally_.odd));
  for (const auto& [kind, count] : tally_.odd_kinds) {
    std::printf("  odd   %-7s %lld\n", kind.c_str(), static_cast<long long>(count));
  }
  for (const auto& [kind, count] : tally_.only_kinds) {
    std::printf("  only  %-7s %lld\n", kind.c_str(), static_cast<long long>(count));
  }
  return tally_.asked == 0 || tally_.odd > most ? 1 : 0;
}

int Main(int argc, char** argv) {
  int64_t count = 60, seed = 1, most = 0, show = 20;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    int64_t* const value = flag == "--count"  ? &count
                           : flag == "--seed" ? &seed
                           : flag == "--most" ? &most
                           : flag == "--show" ? &show
                                              : nullptr;
    if (value == nullptr || i + 1 >= argc || !absl::SimpleAtoi(argv[i + 1], value)) {
      std::fprintf(stderr, "usage: oddness_check [--count N] [--seed S] [--show M] [--most K]\n");
      return 2;
    }
  }
  const absl::StatusOr<Catalog> catalog = Catalog::Builtin();
  if (!catalog.ok()) return 2;
  Checker checker(*catalog, static_cast<int>(show));
  for (int64_t i = 0; i < count; ++i) checker.Check(static_cast<uint64_t>(seed) * 1'000'003 + static_cast<uint64_t>(i));
  return checker.Report(most);
}

}  // namespace
}  // namespace flightplan

int main(int argc, char** argv) { return flightplan::Main(argc, argv); }
