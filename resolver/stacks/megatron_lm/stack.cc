// Megatron-LM: pretrain_gpt.py and its command line.
#include "resolver/plan/stack.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "resolver/base/path.h"
#include "resolver/plan/reading.h"

namespace flightplan {
namespace {

constexpr Phase kPhases[] = {
    Phase::kParse,     Phase::kCliValidate, Phase::kModel, Phase::kModelMla, Phase::kDdp,      Phase::kOptimizer,
    Phase::kContainer, Phase::kBuild,       Phase::kMesh,  Phase::kSchedule, Phase::kHardware, Phase::kAdvice,
};

constexpr absl::string_view kEntryScripts[] = {"pretrain_gpt.py", "pretrain_mamba.py", "pretrain_hybrid.py",
                                               "pretrain_bert.py", "pretrain_t5.py"};

// Flags that only a Megatron trainer has: one of them and kEnoughFlags known ones make a launch.
constexpr absl::string_view kTellingFlags[] = {"--tensor-model-parallel-size", "--pipeline-model-parallel-size",
                                               "--expert-model-parallel-size", "--context-parallel-size",
                                               "--micro-batch-size",           "--num-attention-heads",
                                               "--use-mcore-models",           "--transformer-impl",
                                               "--use-distributed-optimizer",  "--global-batch-size",
                                               "--max-position-embeddings"};
constexpr int kEnoughFlags = 3;

absl::string_view FlagOf(const Argument& arg) { return absl::string_view(arg.text).substr(0, arg.text.find('=')); }

bool IsLaunch(absl::string_view path, absl::Span<const Argument> args) {
  static const auto* const kKnown = [] {
    auto* known = new absl::flat_hash_set<absl::string_view>();
    for (const internal::FlagRow& row : Flags()) known->insert(row.flag);
    return known;
  }();
  int known = 0;
  bool telling = false;
  for (const Argument& arg : args) {
    const absl::string_view flag = FlagOf(arg);
    if (!kKnown->contains(flag)) continue;
    ++known;
    telling = telling || std::find(std::begin(kTellingFlags), std::end(kTellingFlags), flag) != std::end(kTellingFlags);
  }
  const absl::string_view file = FileName(path);
  const bool own = std::find(std::begin(kEntryScripts), std::end(kEntryScripts), file) != std::end(kEntryScripts);
  return (own && known > 0) || (telling && known >= kEnoughFlags);
}

}  // namespace

extern const Stack kMegatronLmStack;
const Stack kMegatronLmStack = {
    .target = Target::kMegatronLm,
    .name = "megatron-lm",
    .rank = 0,
    .command_line = true,
    .entry_scripts = kEntryScripts,
    .tokenizer_model = true,
    .marks = {.order = 2, .launch = IsLaunch},
    .releases = kCoreReleases,
    .core_release = [](int release) { return release; },
    .phases = kPhases,
};

}  // namespace flightplan
