#include "resolver/judge/launcher_words.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/plan/reading.h"

namespace flightplan {
namespace {

constexpr absl::string_view kExecutor = "Megatron-Bridge:scripts/performance/utils/executors.py:182";

Finding Fault(absl::string_view rule_id, Severity severity, std::string seen, std::string needs,
              absl::string_view source) {
  Finding finding;
  finding.rule_id = rule_id;
  finding.area = "environment";
  finding.severity = severity;
  finding.verdict = severity == Severity::kError ? Verdict::kWillRun : Verdict::kAdvice;
  finding.stage = "launch";
  finding.seen = std::move(seen);
  finding.needs = std::move(needs);
  finding.source = source;
  return finding;
}

}  // namespace

std::vector<Finding> JudgeLauncherWords(const CpuBinding& binding, const Environment& env) {
  std::vector<Finding> faults;
  if (!binding.torchrun.empty()) {
    const std::string seen = absl::StrCat("--numa-binding ", Printable(binding.torchrun));
    const auto known = std::find(std::begin(kNumaBindings), std::end(kNumaBindings), binding.torchrun);
    if (known == std::end(kNumaBindings)) {
      faults.push_back(Fault("launch.numa-binding", Severity::kError, seen,
                             absl::StrCat("torchrun takes ", absl::StrJoin(kNumaBindings, ", ")), kNumaBindingSource));
    } else if (env.torch_stated && env.torch.has_value() && !AtLeast(env.torch, kNumaBindingTorch)) {
      faults.push_back(Fault("launch.numa-binding", Severity::kError, absl::StrCat(seen, ", torch ", env.torch->text),
                             absl::StrCat("torchrun has the flag from PyTorch ", kNumaBindingTorch,
                                          " on: leave it out, or put numactl around each rank"),
                             kNumaBindingSource));
    } else if (!env.torch_stated) {
      faults.push_back(NumaBindingAssumption(binding.torchrun));
    }
  }
  if (binding.around_torchrun && env.gpus_per_node > 1) {
    faults.push_back(
        Fault("launch.numactl-around-torchrun", Severity::kWarning,
              absl::StrCat("numactl --cpunodebind=", Printable(binding.numactl), " torchrun"),
              absl::StrCat("all ranks of a node inherit one NUMA node, the half of them with their GPUs at "
                           "another: leave numactl out and say torchrun --numa-binding node (PyTorch ",
                           kNumaBindingTorch, ")"),
              kNumaBindingSource));
  } else if (env.gpus_per_node > 1 && binding.ranks_a_node >= env.gpus_per_node) {
    faults.push_back(Fault(
        "launch.numactl-one-node", Severity::kWarning,
        absl::StrCat("numactl --cpunodebind=", Printable(binding.numactl), ", ", env.gpus_per_node, " GPUs a node"),
        absl::StrCat("every rank lands on NUMA node 0: with two of them a node divide by ", env.gpus_per_node / 2,
                     " (Megatron-Bridge divides by 2 on Grace, by 4 elsewhere)"),
        kExecutor));
  }
  return faults;
}

}  // namespace flightplan
