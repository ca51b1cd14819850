// A dialect: how one target stack spells a configuration. Each dialect reads its spelling into knobs and writes knobs
// in its spelling; nothing in this room judges values beyond what the stack's own reader would refuse.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/finding.h"

namespace flightplan {

// ---- writing

// Where one knob's words begin in a launch: an element of `argv`, a byte of `text`. They end where the next ones begin.
struct KnobWords {
  Knob knob{};
  size_t argv = 0, text = 0;
};

struct Launch {
  absl::string_view dialect;      // "megatron-lm", "bridge", "bridge-perf", "loongforge"
  std::vector<std::string> argv;  // arguments after the program, one element each, not quoted
  EnvVars env;
  std::string text;              // the same for a shell: exports, continuation lines, quoted
  std::vector<Knob> unspelled;   // knobs whose value this dialect has no way to write
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
};

// ---- reading

// Where something was written. Indices count from 0, lines and columns from 1; -1 and 0: not known.
struct SourcePosition {
  int index = -1;  // argument index
  int line = 0;
  int column = 0;
};

// One argument with the place it came from: what the shell and YAML readers hand to a dialect's parser.
struct Argument {
  std::string text;
  SourcePosition at;
  bool unknown = false;  // would have to be executed to be known ($(...), an unset variable): `text` is its spelling
};

struct ParsedKnob {
  Knob knob{};
  Value value;
  SourcePosition at;
  Origin origin = Origin::kCaller;  // kModel: of the model's file
};

// A part of a model with a configuration of its own beside the language model's: an encoder, a projector.
struct ParsedComponent {
  std::string name;
  std::vector<ParsedKnob> knobs;  // that it says itself; the rest is the launch's
};

// A finding of a reader, and where in the input it points.
struct ParseFinding {
  Finding finding;
  SourcePosition at;
};

// What is said of one place in the input. `source`: the code of the stack that reads it; must outlive the finding. An
// error is one that the stack refuses; the rest is advice.
ParseFinding MakeParseFinding(SourcePosition at, absl::string_view rule_id, Severity severity, std::string seen,
                              std::string needs, absl::string_view source);

struct ParseResult {
  std::vector<ParsedKnob> knobs;  // in the order written; a later one overrides an earlier one
  std::vector<ParsedComponent> components;
  std::vector<std::string> wanted_files;  // that the launch reads and env.model_files does not hold
  bool model_file_read = false;           // the caller's, or what is built in of it
  std::vector<Knob> unknown;              // those last written with a value that only a run would know
  std::vector<ParseFinding> findings;     // errors: the stack would refuse the input
  EnvVars recipe_vars;                    // Bridge's env_vars section: defaults for the process environment
  bool ok() const;                        // no finding of level error
};

// ---- bounds that every reader keeps. Input beyond them is refused with a finding, never cut short in silence.

inline constexpr size_t kMaxArguments = 4096;
inline constexpr size_t kMaxArgumentBytes = 64 * 1024;
inline constexpr size_t kMaxListItems = 4096;     // of one knob, also after an expression such as ([1]*61) is evaluated
inline constexpr size_t kMaxParseFindings = 256;  // the rest is counted in a last finding

// ---- helpers shared by the dialects

// Puts the parsed knobs into `config` as the caller's words.
void ApplyKnobs(const std::vector<ParsedKnob>& knobs, Config* config);

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

// A printable form of untrusted text for a message: at most `limit` bytes, control and non-UTF-8 bytes escaped.
std::string Printable(absl::string_view text, size_t limit = 80);

}  // namespace flightplan
