// What the reader of a configuration hands on: words and knobs with the places they were written at, and what it
// refused.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/finding.h"

namespace flightplan {

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

// What else has memory of the GPUs while a training step runs, as the launch says it.
struct MemoryOfOthers {
  std::string holder;               // a phrase: "the rollout engine"; empty: nobody
  std::optional<double> gpu_share;  // of each GPU's memory, 0..1; empty: the launch does not say
  std::string not_modelled;         // a phrase of what no formula weighs: "LoRA adapters"; empty: nothing
  // What is counted though it is elsewhere while layers run: "optimizer states that wait on the host". Empty: nothing.
  std::string counted_too;
  int weight_copies = 0;           // of the model's weights, laid out as they are: a reference model
  bool reference_forward = false;  // a reference model runs forward beside each forward pass of a step
  int sequences_a_sample = 1;      // of a microbatch: 2 where its size counts pairs
};

struct ParseResult {
  std::vector<ParsedKnob> knobs;  // in the order written; a later one overrides an earlier one
  std::vector<ParsedComponent> components;
  std::vector<std::string> wanted_files;  // that the launch reads and env.model_files does not hold
  bool model_file_read = false;           // the caller's, or what is built in of it
  bool own_model_file = false;            // the caller's
  int64_t gpus_per_node = 0;              // that the words state; 0: they do not
  std::string base;  // a recipe of the stack's own that its words start from, whose values are known
  MemoryOfOthers others;
  bool engine_apart = false;  // of a stack that makes rollouts: no engine shares the trainer's GPUs
  std::string elsewhere;      // where values stand that the reader was not given, sizes among them; empty: nowhere
  std::string hf_model;       // the model that it trains, by its name on the Hugging Face hub; or empty
  // The first word that cannot be read and may hold any flags; empty: none does.
  std::string open_words;
  std::vector<std::string> not_judged;  // what the reader looks for and such a word may hold
  bool other_converter = false;         // it names a converter of the model's folder other than the stack's usual one
  std::vector<Knob> unknown;            // those last written with a value that only a run would know
  // Of those the paths, as they are spelled: for what asks only whether there is one.
  std::vector<ParsedKnob> paths;
  std::vector<ParseFinding> findings;  // errors: the stack would refuse the input
  EnvVars recipe_vars;  // defaults for the process environment: Bridge's env_vars section, a launcher's exports
  bool ok() const;      // no finding of level error
};

// ---- bounds that every reader keeps. Input beyond them is refused with a finding, never cut short in silence.

inline constexpr size_t kMaxArguments = 4096;
// Words that are looked at, so that a finding can say how many there are; an input with more is refused as a whole.
inline constexpr size_t kMaxWords = 16 * kMaxArguments;
inline constexpr size_t kMaxArgumentBytes = size_t{64} * 1024;
inline constexpr size_t kMaxListItems = 4096;     // of one knob, also after an expression such as ([1]*61) is evaluated
inline constexpr size_t kMaxParseFindings = 256;  // a last one stands for the rest

// Adds a finding of a reader. Beyond the bound a last one says that there are more, as severe as the worst of them, so
// that the verdict stays right.
void KeepFinding(ParseFinding finding, std::vector<ParseFinding>* findings);
// The same for each of `more`, in order.
void KeepFindings(std::vector<ParseFinding> more, std::vector<ParseFinding>* findings);

// What is asked of it is only whether it is written.
bool IsCheckpointPath(Knob knob);

// Puts the parsed knobs into `config` as the caller's words.
void ApplyKnobs(const std::vector<ParsedKnob>& knobs, Config* config);

inline constexpr size_t kPrintedBytes = 80;
// A printable form of untrusted text for a message: at most `limit` bytes, control and non-UTF-8 bytes escaped.
std::string Printable(absl::string_view text, size_t limit = kPrintedBytes);

}  // namespace flightplan
