// A launch: how a configuration is spelled for one stack, as arguments and as a script.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"

namespace flightplan {

// Where one knob's words begin in a launch: an element of `argv`, a byte of `text`. They end where the next ones begin.
struct KnobWords {
  Knob knob{};
  size_t argv = 0, text = 0;
};

// What a person must add before the launch starts, or would add: no plan says it.
struct RequiredInput {
  absl::string_view name;     // "train_iters"
  absl::string_view what;     // a phrase
  std::string spelling;       // in the launch's dialect, with a placeholder: "--train-iters N"
  std::string example;        // words that start: "--train-iters 1000"
  absl::string_view without;  // what happens where it is left out; empty: nothing starts
};

struct Launch {
  absl::string_view dialect;      // "megatron-lm", "bridge", "bridge-perf", "loongforge"
  std::vector<std::string> argv;  // arguments after the program, one element each, not quoted
  EnvVars env;
  std::string text;             // the same for a shell: exports, continuation lines, quoted
  std::vector<Knob> unspelled;  // knobs whose value this dialect has no way to write
  std::vector<RequiredInput> required_inputs;
  size_t plan_end = 0;           // of `text`: where placeholders for them begin; 0: at its end
  std::vector<KnobWords> words;  // of each knob, in the order of `argv`; empty where a dialect does not keep them apart
};

// A launch of the same target in the same dialect, and the configuration that it was written from.
struct Written {
  const Config& config;
  const Launch& launch;
};

struct RenderInput {
  const Config& config;
  const Environment& env;
  // Environment variables to export with the launch, already decided; the dialect adds none of its own.
  const EnvVars& vars;
  // What is the same there may be taken from there; null: there is none.
  const Written* like = nullptr;
  // It is timed and no model is kept: it starts on mock data, without a tokenizer.
  bool benchmark = false;
  // The model on the Hugging Face hub; empty: not known.
  absl::string_view hf_model = {};
};

// The configuration of a launch, not one knob alone, whose words an edit of a launch asks for.
bool IsWhole(const Config& config);

// Quotes one word for a POSIX shell, only where it needs it.
std::string ShellQuote(absl::string_view word);

// `exports`, then `command` and the arguments: a flag and its values share a line, lines end in " \".
std::string ShellText(const EnvVars& exports, absl::string_view command, absl::Span<const std::string> argv);

// Writes a launch word by word: its arguments, and beside them the text that ShellText makes of them.
class LaunchWriter {
 public:
  // `launch->env` is written first; argv and text are empty.
  LaunchWriter(absl::string_view command, Launch* launch);

  void Flag(absl::string_view flag);  // of a table: no shell would want it quoted
  void Word(std::string word);
  void Line(std::string word);  // on a line of its own
  // The words of the i-th knob of a launch that is like this one.
  void Repeat(const Launch& other, size_t i);
  // The place of the next word.
  KnobWords At(Knob knob) const { return {knob, launch_->argv.size(), launch_->text.size()}; }
  void Finish() { launch_->text += '\n'; }

 private:
  Launch* const launch_;
};

}  // namespace flightplan
