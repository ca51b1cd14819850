// What the words of a command tell of the program that they run.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "resolver/shell/state.h"

namespace flightplan {

bool IsSrun(const ShellWord& word);

// A flag, one of Bridge's overrides (name=value), or what could be either.
bool CouldBeSetting(const ShellWord& word);

// Programs that name files without running them.
bool OnlyNames(absl::string_view program);

// Whether a command's flags are those of a training rather than of a tool around it (conversion, download, plots).
bool LooksLikeTraining(WordSpan words);

// Whether the word is a module behind -m whose keys run a stack's program (Stack::module_keys).
bool RunsAStackByItsKeys(WordSpan words, size_t i);

// Commands that leave the files that they name as they are; a program that is launched does, too.
bool OnlyReads(WordSpan words);

// "-m verl.trainer.sft_trainer": the module that Python or a launcher of it runs, where it is a training by its name or
// its flags; empty: none.
std::string TrainingModuleOf(WordSpan words);

}  // namespace flightplan
