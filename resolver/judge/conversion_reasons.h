// Why a knob of one stack is not written for another as it stands.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "resolver/engine/engine.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"

namespace flightplan {

// What a stack that starts from a Hugging Face model has no knob for, and says by words of its own:
// data.max_prompt_length and its like.
bool SaidByOwnWords(Knob knob, const Environment& env);

// Where rollouts are trained on, the word asks for prompts that are answered, and not for a part of the data.
bool MeansAnother(Knob knob, const Environment& from, const Environment& to);

// Of the weight decay that a command line copies to its scheduler; a container's scheduler reads its own only.
bool IsReadThereAlone(Knob knob, const Environment& from, const Environment& to);

// A container asks for the virtual stages before it reads the layout that says them.
bool IsAskedBeforeDerived(Knob knob, const Environment& to);

// Of a word that the stack itself gives another value before anything reads it: the groups of a launch without
// --group-query-attention. `written`, `runs`: the source's configuration as written and as it runs.
bool IsUnread(Knob knob, const Config& written, const Config& runs);

// Variables that `to` asks a launch of `written` for, where `from` is a stack whose own program sets what it needs.
void ExportWhatSourceSets(const Config& written, const Environment& from, Environment* to);

// Code that the stack runs, of this source, gives the knob its value; the other stack may not run it.
bool SetByStack(const RunResult& run, absl::string_view source, Knob knob);

// The launcher tells each process.
bool IsOfProcess(Knob knob);

// The parser knows the word, where it has a list of them.
bool TakesWord(Knob knob, const Value& value, const Environment& env);

// A sentence. `config`: what the source says.
std::string WhyNoWord(Knob source, const Config& config, const Environment& from, const Environment& to);

}  // namespace flightplan
