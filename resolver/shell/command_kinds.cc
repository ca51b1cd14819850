#include "resolver/shell/command_kinds.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/path.h"
#include "resolver/plan/stack.h"

namespace flightplan {

namespace {

// "trainer.nnodes=2", of Hydra.
bool IsOverride(const ShellWord& word) {
  const absl::string_view text = word.value.text;
  const absl::string_view key = text.substr(0, text.find('='));
  return key.size() < text.size() && absl::StrContains(key, '.') && key.find_first_of("-/ ") == absl::string_view::npos;
}

}  // namespace

bool IsSrun(const ShellWord& word) { return FileName(word.value.text) == "srun"; }

bool CouldBeSetting(const ShellWord& word) {
  return absl::StrContains(word.value.text, "=") || absl::StartsWith(word.value.text, "--") || word.value.unknown();
}

bool OnlyNames(absl::string_view program) {
  static const auto* const kPrograms = new std::set<absl::string_view>{
      "cat", "cd",    "chmod", "cp", "diff",  "find", "git",  "grep", "head", "ln",    "ls", "mkdir",
      "mv",  "pgrep", "pkill", "rm", "rsync", "sed",  "tail", "tar",  "tee",  "touch", "wc"};
  return kPrograms->count(program) > 0;
}

bool RunsAStackByItsKeys(WordSpan words, size_t i) {
  if (words[i - 1].value.text != "-m" || absl::StartsWith(words[i].value.text, "torch.")) return false;
  return std::any_of(words.begin() + i, words.end(), [](const ShellWord& word) {
    return absl::c_any_of(AllStacks(), [&](const Stack* stack) {
      return !stack->module_keys.empty() && absl::StrContains(word.value.text, stack->module_keys);
    });
  });
}

bool LooksLikeTraining(WordSpan words) {
  static constexpr std::array<absl::string_view, 8> kFlags = {"--micro-batch-size",
                                                              "--global-batch-size",
                                                              "--train-iters",
                                                              "--train-samples",
                                                              "--tensor-model-parallel-size",
                                                              "--pipeline-model-parallel-size",
                                                              "--recipe",
                                                              "--seq-length"};
  return std::any_of(words.begin(), words.end(), [](const ShellWord& word) {
    return std::any_of(kFlags.begin(), kFlags.end(),
                       [&word](absl::string_view flag) { return absl::StartsWith(word.value.text, flag); });
  });
}

bool OnlyReads(WordSpan words) {
  static constexpr absl::string_view kReaders[] = {"cat",  "echo", "ls",   "chmod", "mkdir",
                                                   "head", "tail", "grep", "tee"};
  const absl::string_view program = words[0].value.text;
  const auto is_python = [](const ShellWord& word) { return absl::EndsWith(word.value.text, ".py"); };
  return std::find(std::begin(kReaders), std::end(kReaders), program) != std::end(kReaders) ||
         std::any_of(words.begin(), words.end(), is_python);
}

std::string TrainingModuleOf(WordSpan words) {
  const auto* const python = std::find_if(words.begin(), words.end(), [](const ShellWord& word) {
    const absl::string_view program = FileName(word.value.text);
    return absl::StartsWith(program, "python") || program == "torchrun";
  });
  for (auto word = python; word != words.end(); ++word) {
    if (word->value.text != "-m" || std::next(word) == words.end()) continue;
    const std::string& module = std::next(word)->value.text;
    const bool training =
        absl::StrContains(module, "train") || LooksLikeTraining(words) || std::any_of(word, words.end(), IsOverride);
    if (!absl::StartsWith(module, "torch.") && training) return absl::StrCat("-m ", module);
  }
  return "";
}

}  // namespace flightplan
