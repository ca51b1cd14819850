#include "resolver/judge/converted_question.h"

#include <string>

#include "absl/strings/match.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/input_format.h"

namespace flightplan {

JudgeQuestion ConvertedQuestion(const ConvertQuestion& question, const Environment& to, const Launch& launch,
                                bool open) {
  JudgeQuestion converted = question.source;
  converted.input = {};
  converted.stated.clear();
  converted.repair = false;
  if (StackOf(to).container) {
    // What the shell has to work out says nothing that can be judged.
    for (const std::string& word : launch.argv) {
      if (!absl::StrContains(word, '$')) converted.input.arguments.push_back(word);
    }
    converted.input.format = open ? "bridge-recipe" : "bridge-overrides";
  } else {
    converted.input.form = ConfigInput::Form::kFile;
    converted.input.format = std::string(kShellFormat);
    converted.input.text = launch.text;
  }
  converted.env = question.target;
  converted.env.vars = to.vars;
  converted.env.world_size = to.world_size;
  return converted;
}

}  // namespace flightplan
