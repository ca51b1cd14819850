#include "clients/doors/recognise_stack.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "resolver/plan/knob.h"

namespace flightplan::doors {
namespace {

// Flags that only a Megatron trainer has: one of them and kEnoughFlags known ones make a launch.
constexpr absl::string_view kTellingFlags[] = {"--tensor-model-parallel-size", "--pipeline-model-parallel-size",
                                               "--expert-model-parallel-size", "--context-parallel-size",
                                               "--micro-batch-size",           "--num-attention-heads",
                                               "--use-mcore-models",           "--transformer-impl",
                                               "--use-distributed-optimizer",  "--global-batch-size",
                                               "--max-position-embeddings"};
constexpr int kEnoughFlags = 3;

// Sections of Megatron-Bridge's ConfigContainer that its overrides begin with.
constexpr absl::string_view kBridgeSections[] = {
    "model.", "train.", "ddp.", "optimizer.", "comm_overlap.", "dataset.", "checkpoint.", "mixed_precision.", "dist."};

absl::string_view FileName(absl::string_view path) { return path.substr(path.rfind('/') + 1); }

absl::string_view FlagOf(const Argument& arg) { return absl::string_view(arg.text).substr(0, arg.text.find('=')); }

bool IsBridgeOverride(absl::string_view text) {
  while (absl::ConsumePrefix(&text, "+")) {
  }
  return absl::StrContains(text, '=') &&
         std::any_of(std::begin(kBridgeSections), std::end(kBridgeSections),
                     [text](absl::string_view section) { return absl::StartsWith(text, section); });
}

bool IsBridge(absl::string_view path, absl::Span<const Argument> args) {
  const absl::string_view file = FileName(path);
  if (absl::StrContains(path, "scripts/performance/")) return true;
  const bool overrides =
      std::any_of(args.begin(), args.end(), [](const Argument& arg) { return IsBridgeOverride(arg.text); });
  const bool recipe =
      std::any_of(args.begin(), args.end(), [](const Argument& arg) { return FlagOf(arg) == "--recipe"; });
  return overrides || (file == "run_recipe.py" && recipe);
}

bool IsMegatron(absl::Span<const Argument> args) {
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
  return telling && known >= kEnoughFlags;
}

}  // namespace

std::optional<Target> RecogniseStack(absl::string_view script, absl::Span<const Argument> args) {
  const std::string path = absl::AsciiStrToLower(script);
  if (absl::StrContains(path, "loongforge") && absl::StartsWith(FileName(path), "train")) return Target::kLoongForge;
  if (IsBridge(path, args)) return Target::kMegatronBridge;
  if (IsMegatron(args)) return Target::kMegatronLm;
  return std::nullopt;
}

std::optional<Target> RecogniseYaml(absl::string_view text) {
  if (absl::StrContains(text, "_target_: megatron.bridge.")) return Target::kMegatronBridge;
  if (absl::StrContains(text, "_target_: loongforge.models.")) return Target::kLoongForge;
  return std::nullopt;
}

}  // namespace flightplan::doors
