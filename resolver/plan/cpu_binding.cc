#include "resolver/plan/cpu_binding.h"

#include "absl/strings/str_cat.h"
#include "resolver/plan/stack.h"

namespace flightplan {

absl::string_view NumaBindingOf(const Environment& env) {
  if (env.gpus_per_node <= 1 || env.world_size.value_or(1) <= 1) return "";
  const Stack& stack = StackOf(env);
  // The others are started by Ray, or by a command that starts torchrun itself.
  const bool own_script = (stack.command_line || stack.container) && !stack.entry_scripts.empty();
  if (!own_script && !stack.fork) return "";
  // LoongForge's image is older (docker/Dockerfile: pytorch:25.06), so a version that nobody states is not new enough.
  const bool has = env.torch_stated ? AtLeast(env.torch, kNumaBindingTorch) : !stack.fork;
  return has ? "node" : "";
}

Finding NumaBindingAssumption(absl::string_view value) {
  Finding finding;
  finding.rule_id = "launch.numa-binding";
  finding.area = "environment";
  finding.severity = Severity::kInfo;
  finding.verdict = Verdict::kAdvice;
  finding.stage = "launch";
  finding.seen = absl::StrCat("--numa-binding ", value, ", torch unset (version not given: taken as new enough)");
  finding.needs = absl::StrCat("torchrun older than PyTorch ", kNumaBindingTorch,
                               " stops at the flag: say which torch there is, or leave the flag out");
  finding.source = kNumaBindingSource;
  finding.observed = {{"torch", Value()}};
  return finding;
}

}  // namespace flightplan
