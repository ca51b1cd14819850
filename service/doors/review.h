// Turns a script into the question that a door asks, and the answer into a verdict and a few lines for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/shell/slurm_job.h"
#include "service/doors/skip.h"

namespace flightplan {
class Catalog;
}

namespace flightplan::doors {

enum class Verdict { kAllowed, kWarned, kRefused, kNotJudged };
// "allowed", "warned", "refused", "not_judged": in metrics, logs and machine-readable output.
absl::string_view VerdictWord(Verdict verdict);

// What a scheduler says of a job.
struct JobFacts {
  std::optional<int64_t> gpus;  // of the whole job; empty: it does not say
  std::string gpu_label;        // its word for the GPU; empty: none, or more than one
  EnvVars vars;                 // that the job will have, beside those of the question
};
JobFacts FactsOf(const SlurmJob& job);

// The question about a launch, or why there is none.
struct Question {
  std::optional<Skip> skip;          // nothing: ask
  std::optional<int64_t> launched;   // processes that its launcher (torchrun, srun) starts
  std::optional<int64_t> allocated;  // GPUs that the job asks for
};

// Turns a launch script or file into the question about it. `request` comes with what the caller states (target,
// hardware, env ...), which stands, and gets the rest:
// - the stack, recognised from the launch, where no framework is stated; its version, where none is stated either,
//   from `releases` ("megatron-lm@0.17"), else the newest;
// - the variables and the GPU of `job`;
// - the world size: what the launcher starts, where that can be read, else the GPUs of `job`.
// Without a launch of a known stack the request is of no use. Nothing in the text is executed.
Question AskAboutScript(absl::string_view name, std::string text, const JobFacts& job,
                        absl::Span<const std::string> releases, const Catalog& catalog,
                        v1::ValidateConfigRequest* request);

// OK: "megatron-lm@0.17" or "megatron-lm", which is main, of a stack and in a form of version that the judge takes;
// else what it must be.
absl::Status CheckRelease(absl::string_view release);

// Whose launch or configuration a text is, by its program, its flags or its keys; empty: it does not show.
std::optional<Target> StackOfText(absl::string_view name, const std::string& text, const EnvVars& vars);

// One finding for a terminal or an API answer: where, what was seen, what is needed, what to do.
struct FindingLine {
  bool error = false;  // else a warning
  std::string rule_id;
  int line = 0, column = 0;  // of the file, from 1; 0: it was not written
  std::string seen;
  std::string needs;
  std::string fix;                       // the best one, spelled for the target; empty: none is known
  std::vector<std::string> other_fixes;  // `needs` may say what each of them comes to

  std::string Text() const;
};

// The answer as a door gives it. An error refuses, a warning warns, notes do not count; what rests on what the
// launch does not show is no finding (resolver/judge/knowledge.h).
struct Review {
  Verdict verdict = Verdict::kNotJudged;
  std::vector<FindingLine> lines;       // errors, then warnings
  std::vector<std::string> not_judged;  // why, or which parts
  bool unread = false;                  // of kNotJudged: see Skip
  std::string target;                   // "megatron-lm main"
  std::string digest;                   // the decision's id; empty: nothing was asked
};
Review ReviewOf(const Question& question, const v1::ValidateConfigResponse& response);
// Of what is not asked.
Review NotAsked(Skip skip);
// The same of what may be a training and could not be read.
Review Unread(absl::string_view why);

}  // namespace flightplan::doors
