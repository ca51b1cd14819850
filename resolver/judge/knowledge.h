// Decides how far a finding can be trusted if the launch does not show its whole configuration: values may stand in a
// recipe, in a model's YAML file, in a variable of another script, in the container. Findings that rest on those are
// set aside for every caller: a person with one file, a queue, a webhook.
#pragma once

#include <bitset>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/reading.h"

namespace flightplan {

class KnobSet {
 public:
  void insert(Knob knob) { bits_.set(static_cast<size_t>(knob)); }
  void erase(Knob knob) { bits_.reset(static_cast<size_t>(knob)); }
  bool contains(Knob knob) const { return bits_.test(static_cast<size_t>(knob)); }

 private:
  std::bitset<kKnobCount> bits_;
};

// What an input shows of its configuration. As made: all of it.
struct Knowledge {
  std::string elsewhere;          // where values stand that are not written here; empty: nowhere, unset is the default
  bool layout_elsewhere = false;  // the parallel sizes may stand there too
  bool own_parser = true;         // it is read by the stack's own parser, which takes no flags but the stack's
  bool clear = true;              // every word of the launch can be read
  bool surroundings = true;       // the question states the software and the variables of the process, too
  bool vars_in_files = false;     // a file that the script sources and that is not here may set variables, too
  bool gpu_known = true;          // the question names one, or nothing that is judged asks for one
  bool size_assumed = false;      // the world size rests on a default of the script
  bool part = false;              // flags, or a model's file, without a launch around them
  bool model_named = false;       // by the launch, and the catalogue has it
  bool keyed = false;             // of a file whose values stand under their keys: no word is taken for another's
  // The model's file that it names was read, if at all, in another revision than the caller's.
  bool file_of_another_day = false;
  bool base_known = false;  // what it starts from elsewhere is known in what counts for memory
  // A program over the stack, whose loss holds memory that the forecast does not count, or whose samples may be
  // shorter.
  bool own_loss = false;
  std::string derivative;                          // a program with flags of its own; empty: none that is known
  std::set<std::string, std::less<>> hidden_vars;  // variables of the process that only a run would know
  KnobSet hidden;                                  // written with a value that cannot be read
  KnobSet shown;                                   // written, or said by what the launch names and we know
};

// The words of a launch.
struct LaunchWords {
  absl::string_view script = {};  // the Python file that is run; empty: the words come alone, for the own entry script
  absl::Span<const Argument> args = {};
  bool over_defaults = false;  // overrides that come alone, and what they leave out has its default: no recipe is named
};
// Of a file that a script sources, by its name: what puts a Python environment in front of the path sets nothing that
// is judged, nor does one whose flags are read.
bool MayHoldVariables(absl::string_view sourced);
// All arguments of the script ("$@") are none, unless somebody gives some; where a flag asks for a value they stay.
void DropAllArguments(std::vector<Argument>* args);
Knowledge KnowledgeOf(Target target, const LaunchWords& words, const ParseResult& parsed);

enum class Standing {
  kFull,    // holds for what will run
  kUnless,  // holds unless the job's surroundings set a variable that is not seen here: a warning, never an error
  kNone,    // rests on what is not known here
};
Standing StandingOf(const Finding& finding, const Environment& env, const Knowledge& knowledge);

// Takes out what is not to be trusted and makes warnings of errors that hold unless. Returns the rules whose errors and
// warnings were set aside; `errors`: whether an error was among them.
struct SetAside {
  std::set<std::string> rules;
  bool errors = false;
};
void KeepWhatIsShown(const Environment& env, const Knowledge& knowledge, std::vector<Finding>* findings,
                     SetAside* aside);
void KeepWhatIsShown(const Environment& env, const Knowledge& knowledge, std::vector<ParseFinding>* findings,
                     SetAside* aside);
// A sentence for people; empty: nothing was set aside.
std::string Sentence(const SetAside& aside, const Knowledge& knowledge);

}  // namespace flightplan
