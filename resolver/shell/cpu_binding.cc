#include "resolver/shell/cpu_binding.h"

#include <algorithm>
#include <initializer_list>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace flightplan {
namespace {

bool IsProgram(const ShellWord& word, absl::string_view name) {
  const absl::string_view text = word.value.text;
  return text.substr(text.rfind('/') + 1) == name;
}

// --flag VALUE or --flag=VALUE; null: not written. `value` is the text behind it.
const ShellWord* FindFlag(WordSpan words, std::initializer_list<absl::string_view> names, std::string* value) {
  for (size_t i = 0; i < words.size(); ++i) {
    for (const absl::string_view name : names) {
      absl::string_view text = words[i].value.text;
      if (!absl::ConsumePrefix(&text, name)) continue;
      if (absl::ConsumePrefix(&text, "=")) {
        *value = std::string(text);
        return &words[i];
      }
      if (!text.empty() || i + 1 == words.size()) continue;
      *value = words[i + 1].value.text;
      return &words[i + 1];
    }
  }
  return nullptr;
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
  std::string value;
  const ShellWord* word = FindFlag(launcher, {"--numa-binding", "--numa_binding"}, &value);
  if (word != nullptr && !word->value.unknown()) binding.torchrun = value;
  const auto numactl = std::find_if(launcher.begin(), launcher.end(),
                                    [](const ShellWord& program) { return IsProgram(program, "numactl"); });
  if (numactl == launcher.end()) return binding;
  const WordSpan behind = launcher.subspan(static_cast<size_t>(numactl - launcher.begin()));
  if (FindFlag(behind, {"--cpunodebind", "-N"}, &value) == nullptr) return binding;
  binding.numactl = value;
  binding.ranks_a_node = RanksANode(value);
  binding.around_torchrun = std::any_of(behind.begin(), behind.end(), [](const ShellWord& program) {
    return IsProgram(program, "torchrun") || program.value.text == "torch.distributed.run" ||
           program.value.text == "torch.distributed.launch";
  });
  return binding;
}

}  // namespace flightplan
