#include "resolver/judge/converted_question.h"

#include <cstddef>
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
    // Overrides alone; a flag of the script that takes them (--dataset mock) sets no field that is judged.
    for (size_t i = 0; i < launch.argv.size(); ++i) {
      if (open || !absl::StartsWith(launch.argv[i], "--")) {
        converted.input.arguments.push_back(launch.argv[i]);
      } else {
        ++i;
      }
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
