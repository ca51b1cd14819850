// A stack that configurations are judged for and launches are written for, as data. Each has a folder of its own,
// resolver/stacks/<name>, where its record stands in stack.cc beside what reads and writes its spelling.
#pragma once

#include <algorithm>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/phase.h"

namespace flightplan {

struct Argument;  // plan/reading.h

struct Stack {
  Target target{};
  absl::string_view name;  // in requests and answers: "megatron-lm"
  int rank = 0;            // its place where stacks are listed
  bool by_name = true;     // false: nobody asks for it by its name, it is a part of the others
  // How the citations of its own code begin ("Megatron-Bridge/"): rules with such a source are its alone. Empty: it has
  // no code that the others do not run.
  absl::string_view own_source;
  // It is built on a fork of Megatron-Core, which lacks checks that upstream has and has others.
  bool fork = false;

  // How knobs are written, and what reads them before the config classes do. Neither: fields of Python classes.
  bool command_line = false;  // flags: argparse, then validate_args
  bool container = false;     // sections of a ConfigContainer: model.moe_router_topk
  // A launch starts from a file of the stack's own that says what the model is; its words change that.
  bool model_files = false;
  // The variable that says where the stack's checkout is, if its files refer to one.
  struct Checkout {
    absl::string_view variable, path, source;
  } checkout = {};

  // The Python files that give their words to its own parser and to nothing else.
  absl::Span<const absl::string_view> entry_scripts = {};

  // What its launches run that is no Python file, by the two words that start it: "megatron sft", "-m verl.trainer".
  absl::Span<const absl::string_view> commands = {};

  // How keys begin that run its program from a module of any package ("-m recipe.dapo.main_dapo"). Empty: none do.
  absl::string_view module_keys = {};

  // Its own words for the knobs, as a vocabulary of its spellings.yaml ("ms_swift.argument"), and what stands before
  // each ("--"). Empty: Megatron-LM's flags, or the container's fields.
  absl::string_view vocabulary = {}, before_word = {};

  // The key by which a field for which it has no word of its own is added to one of Megatron's classes; "": nowhere.
  // Null: it adds none.
  std::string (*added_key)(Knob knob) = nullptr;

  // What the model is stands in its Hugging Face folder, which a launch names and does not repeat.
  bool hf_models = false;

  // Its programs read a tokenizer from --tokenizer-model alone, where its kind has a path.
  bool tokenizer_model = false;

  // It may train low-rank adapters in place of the weights, by the knobs of the section peft.
  bool adapters = false;
  // What LoRA is there (a choice of peft.scheme), and switches of it that are otherwise than Megatron-Bridge's.
  absl::string_view lora = "lora";
  struct AdapterSwitch {
    Knob knob{};
    bool value = false;
  };
  absl::Span<const AdapterSwitch> adapter_switches = {};

  // Its microbatches are packed sequences of many lengths, which no layer in a CUDA graph takes.
  bool packs = false;

  // Its launch is one process, a driver, which starts the ranks on the machines that it is given (Ray): what starts the
  // driver does not say how many ranks there are.
  bool own_workers = false;

  // What its launch exports reaches the rollout engine that it starts on the GPUs that it trains on. ROLL takes out of
  // the engine's environment what that cannot have (roll/third_party/vllm/__init__.py:64).
  bool exports_to_engine = false;

  // It builds prediction layers (MTP) like the decoder layers of their stage, and stops where that has none
  // (ms-swift.prediction-stage).
  bool predicts_beside_decoder = false;

  // Switches that its programs leave off, whatever a launch says: no decision, no search and no forecast counts on
  // them.
  absl::Span<const Knob> left_off = {};

  // How its launches and files are told from those of other stacks.
  struct Marks {
    int order = 0;  // those that tell more come first
    // `script`: the Python file that is run, in lower case. Null: it has no launches.
    bool (*launch)(absl::string_view script, absl::Span<const Argument> args) = nullptr;
    absl::string_view yaml = {};        // text that stands in no YAML file but its own; empty: there is none
    absl::string_view looks_like = {};  // a fork whose launches may show nothing but that stack's words
    bool entry = false;  // what `launch` tells is the stack's own program, with no defaults but those it reads
  } marks = {};

  // What its releases are numbered by, and those that were read, oldest first; a stack without numbers has kMain alone.
  int Environment::*release = &Environment::core_release;
  absl::Span<const int> releases;
  // The Megatron-Core release under one of its releases.
  int (*core_release)(int release) = nullptr;

  absl::Span<const Phase> phases;  // of a launch, in order
};

// Begins a comment that says how a launch is to be judged: "# flightplan: --target vime", a line of its own.
inline constexpr absl::string_view kStackComment = "# flightplan:";

// Its programs are Megatron-LM's own, which take its words and no others.
inline bool RunsMegatronLm(const Stack& stack) { return stack.command_line && !stack.fork && stack.own_source.empty(); }

// In no order; generated from the folders.
absl::Span<const Stack* const> RegisteredStacks();
// In the order in which they are named to people.
absl::Span<const Stack* const> AllStacks();
const Stack& StackOf(Target target);
inline const Stack& StackOf(const Environment& env) { return StackOf(env.target); }
inline bool LeavesOff(const Stack& stack, Knob knob) {
  return std::find(stack.left_off.begin(), stack.left_off.end(), knob) != stack.left_off.end();
}
// Null where no stack that is asked for by name has this one.
const Stack* FindStack(absl::string_view name);
// Whether this Python file, or command ("megatron sft"), is an entry of any stack. Others call parsers with flags of
// their own.
bool IsEntryScript(absl::string_view path);
// Whether these two words start a launch of any stack.
bool IsEntryCommand(absl::string_view first, absl::string_view second);
// "megatron-lm, megatron-bridge or loongforge"
std::string StackNames();

// The known release that an unknown one is judged as.
int NearestRelease(const Stack& stack, int release);
// The release of its stack that an environment has, as the stack numbers them. A stack without numbers has one alone;
// of a program that is numbered by Megatron-Core, the newest code is the one whose core the environment has.
int ReleaseOf(const Environment& env);
// "main", "0.19"
std::string ReleaseText(int release);

}  // namespace flightplan
