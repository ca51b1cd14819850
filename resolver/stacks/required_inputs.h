// The inputs that a rendered launch still needs, as data and as placeholders. A shell stops at a placeholder that is
// not filled in, and says what belongs there: "${LR:?the highest learning rate}".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/render/launch.h"

namespace flightplan {

// The nodes of a job, and the GPUs that it uses on each: as many on every node, and no more in all than the plan is
// for. 12 GPUs of nodes that have 8 are 2 x 6.
struct Nodes {
  int64_t count = 0, gpus = 0;  // 0: not known
};
Nodes NodesOf(const Environment& env);
Nodes NodesOf(std::optional<int64_t> world_size, int gpus_per_node);

// "torchrun --nnodes 2 --nproc-per-node 8 --numa-binding node --node-rank ... --master-addr ..." for the GPUs of `env`;
// "torchrun" where their number is not known.
std::string TorchrunWords(const Environment& env);
// That rank and address are asked for, where there is more than one node.
void AskForNodes(const Environment& env, Launch* launch);

// Puts words behind a launch: into its arguments and its text.
void Append(absl::Span<const absl::string_view> words, Launch* launch);
// Asks for an input; `placeholder` goes into the text, and may be empty.
void Ask(RequiredInput input, absl::string_view placeholder, Launch* launch);
// The same, of one word behind `before` ("--model "), whose placeholder is named as the input; `word` stands for it in
// words that are shown ("NAME"). `name` and `what` must live as long as the program.
void AskForWord(absl::string_view name, absl::string_view what, absl::string_view before, absl::string_view word,
                absl::string_view example, Launch* launch);

// What was asked for is there after all, by a word that is put behind the launch: no longer asked for.
void Answered(absl::string_view flag, Launch* launch);

}  // namespace flightplan
