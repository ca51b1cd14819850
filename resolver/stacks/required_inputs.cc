#include "resolver/stacks/required_inputs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/plan/cpu_binding.h"
#include "resolver/plan/partial_nodes.h"

namespace flightplan {
namespace {

constexpr absl::string_view kNodes =
    " --node-rank ${NODE_RANK:?the number of this node, from 0} --master-addr ${MASTER_ADDR:?the address of node 0}";

void AddText(absl::string_view words, Launch* launch) {
  if (!launch->text.empty() && launch->text.back() == '\n') launch->text.pop_back();
  absl::StrAppend(&launch->text, " \\\n    ", words, "\n");
}

void EndPlan(Launch* launch) {
  if (launch->plan_end == 0) launch->plan_end = launch->text.size() - 1;
}

}  // namespace

Nodes NodesOf(const Environment& env) { return NodesOf(env.world_size, env.gpus_per_node); }

Nodes NodesOf(std::optional<int64_t> world_size, int gpus_per_node) {
  if (!world_size.has_value() || gpus_per_node <= 0) return {};
  const int64_t world = std::max<int64_t>(1, *world_size);
  const int64_t gpus = RanksPerNode(world, gpus_per_node);
  return {world / gpus, gpus};
}

std::string TorchrunWords(const Environment& env) {
  const Nodes nodes = NodesOf(env);
  if (nodes.count == 0) return "torchrun";
  const absl::string_view binding = NumaBindingOf(env);
  return absl::StrCat("torchrun --nnodes ", nodes.count, " --nproc-per-node ", nodes.gpus,
                      binding.empty() ? "" : " --numa-binding ", binding, nodes.count > 1 ? kNodes : "");
}

void AskForNodes(const Environment& env, Launch* launch) {
  const Nodes nodes = NodesOf(env);
  if (nodes.count == 0) {
    launch->required_inputs.push_back({"nodes", "how many nodes, and GPUs of each",
                                       "torchrun --nnodes N --nproc-per-node N", "--nnodes 1 --nproc-per-node 8", ""});
  }
  if (nodes.count <= 1) return;
  launch->required_inputs.push_back({"node_rank", "the number of this node, from 0; under Slurm $SLURM_NODEID",
                                     "torchrun --node-rank $NODE_RANK", "NODE_RANK=0", ""});
  launch->required_inputs.push_back({"master_addr",
                                     "the address of node 0; under Slurm the first name of $SLURM_JOB_NODELIST",
                                     "torchrun --master-addr $MASTER_ADDR", "MASTER_ADDR=node0", ""});
}

void Append(absl::Span<const absl::string_view> words, Launch* launch) {
  EndPlan(launch);
  std::string line;
  for (const absl::string_view word : words) {
    launch->argv.emplace_back(word);
    if (absl::StartsWith(word, "--") && !line.empty()) {
      AddText(line, launch);
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", ShellQuote(word));
  }
  AddText(line, launch);
}

void Ask(RequiredInput input, absl::string_view placeholder, Launch* launch) {
  if (!placeholder.empty()) {
    EndPlan(launch);
    AddText(placeholder, launch);
  }
  launch->required_inputs.push_back(std::move(input));
}

void AskForWord(absl::string_view name, absl::string_view what, absl::string_view before, absl::string_view word,
                absl::string_view example, Launch* launch) {
  Ask({name, what, absl::StrCat(before, word), absl::StrCat(before, example), ""},
      absl::StrCat(before, "\"${", absl::AsciiStrToUpper(name), ":?", what, "}\""), launch);
}

void Answered(absl::string_view flag, Launch* launch) {
  const std::string word = absl::StrCat(flag, " ");
  const auto asks = [&](const RequiredInput& input) { return absl::StartsWith(input.spelling, word); };
  const auto asked = std::find_if(launch->required_inputs.begin(), launch->required_inputs.end(), asks);
  if (asked == launch->required_inputs.end()) return;
  launch->required_inputs.erase(asked);
  // Its placeholder, where it has one, is a line behind the plan's own.
  const std::string line = absl::StrCat(" \\\n    ", word, "\"${");
  const size_t at = launch->text.find(line, launch->plan_end);
  if (at == std::string::npos) return;
  const size_t end = std::min(launch->text.find('\n', at + line.size()), launch->text.size());
  const bool goes_on = launch->text.compare(end - 2, 2, " \\") == 0;
  launch->text.erase(at, (goes_on ? end - 2 : end) - at);
}

}  // namespace flightplan
