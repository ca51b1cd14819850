#include "resolver/judge/converted_question.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/input_format.h"

namespace flightplan {

JudgeQuestion LaunchQuestion(JudgeQuestion question, Environment env, const Environment& of, const Launch& launch,
                             bool open) {
  question.input = {};
  if (StackOf(of).container) {
    // What the shell has to work out says nothing that can be judged.
    for (const std::string& word : launch.argv) {
      if (!absl::StrContains(word, '$')) question.input.arguments.push_back(word);
    }
    question.input.format = open ? "bridge-recipe" : "bridge-overrides";
  } else {
    question.input.form = ConfigInput::Form::kFile;
    question.input.format = std::string(kShellFormat);
    question.input.text = launch.text;
  }
  question.env = std::move(env);
  question.env.vars = of.vars;
  question.env.world_size = of.world_size;
  return question;
}

JudgeQuestion ConvertedQuestion(const ConvertQuestion& question, const Environment& to, const Launch& launch,
                                bool open) {
  JudgeQuestion converted = LaunchQuestion(question.source, question.target, to, launch, open);
  converted.stated.clear();
  converted.repair = false;
  return converted;
}

}  // namespace flightplan
