#include "resolver/shell/cpu_binding.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "resolver/base/path.h"
#include "resolver/shell/launcher_flag.h"

namespace flightplan {
namespace {

bool IsProgram(const ShellWord& word, absl::string_view name) {
  const absl::string_view text = word.value.text;
  return FileName(text) == name;
}

// Of "$((SLURM_LOCALID/4))": 4.
int64_t RanksANode(absl::string_view node) {
  constexpr absl::string_view kRank = "SLURM_LOCALID";
  const size_t at = node.find(kRank);
  if (at == absl::string_view::npos) return 0;
  node.remove_prefix(at + kRank.size());
  node = node.substr(std::min(node.size(), node.find_first_not_of("} ")));
  if (!absl::ConsumePrefix(&node, "/")) return 0;
  node = node.substr(std::min(node.size(), node.find_first_not_of(' ')));
  int64_t ranks = 0;
  return absl::SimpleAtoi(node.substr(0, node.find_first_not_of("0123456789")), &ranks) ? ranks : 0;
}

}  // namespace

CpuBinding ReadCpuBinding(WordSpan launcher) {
  CpuBinding binding;
  const auto torchrun = FindLauncherFlag(launcher, {"--numa-binding", "--numa_binding"});
  if (torchrun.has_value() && !torchrun->value->unknown()) binding.torchrun = std::string(torchrun->text);
  const auto numactl = std::find_if(launcher.begin(), launcher.end(),
                                    [](const ShellWord& program) { return IsProgram(program, "numactl"); });
  if (numactl == launcher.end()) return binding;
  const WordSpan behind = launcher.subspan(static_cast<size_t>(numactl - launcher.begin()));
  const auto node = FindLauncherFlag(behind, {"--cpunodebind", "-N"});
  if (!node.has_value()) return binding;
  binding.numactl = std::string(node->text);
  binding.ranks_a_node = RanksANode(node->text);
  binding.around_torchrun = std::any_of(behind.begin(), behind.end(), [](const ShellWord& program) {
    return IsProgram(program, "torchrun") || program.value.text == "torch.distributed.run" ||
           program.value.text == "torch.distributed.launch";
  });
  return binding;
}

}  // namespace flightplan
