// Scripts inside a script: what `bash -c "..."`, `sbatch --wrap "..."`, `ssh HOST "..."` and a shell's here-document
// run.
#pragma once

#include <cstddef>
#include <optional>

#include "resolver/shell/slurm_job.h"
#include "resolver/shell/state.h"

namespace flightplan {

struct InnerScript {
  size_t launcher = 0;  // how many words stand before the shell: srun and its flags
  TracedText text;
};

// The script that stands in the words of a command; nothing: it starts no shell with one.
std::optional<InnerScript> ScriptInWords(WordSpan words);

// The command runs what it reads as a script: `bash <<EOF`, `sbatch <<EOF`, `ssh HOST <<EOF`.
bool RunsItsInput(WordSpan words);

// The word there is a script that the command runs: `./job.sh`, `bash -x job.sh`, `sbatch --nodes 2 job.sh`.
bool RunsScriptAt(WordSpan words, size_t at);

// The job that `sbatch` asks for, by its words and by the #SBATCH lines of its script; nothing: the words submit none.
std::optional<SlurmJob> SubmittedJob(WordSpan words, absl::string_view script);

}  // namespace flightplan
