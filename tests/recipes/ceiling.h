// What the published recipes leave open: how often any rule can agree with them, whatever it knows.
#pragma once

#include <string>
#include <vector>

#include "tests/recipes/agreement.h"

namespace flightplan {

// One decision of one recipe, and what it was decided for.
struct Published {
  std::string family, value;
  std::string question;  // model, GPU, precision and number of GPUs
  std::string layout;    // the question with parallel sizes and microbatch
  // What is known without the model's name, the most telling first: GPU, precision, where EP ends, pipeline.
  std::vector<std::string> situations;
};
Published AsPublished(const Recipe& recipe, const NormalizedIntent& intent, std::string family, std::string value);

// Of the same rows.
struct Ceiling {
  // The most frequent answer to each question, and to each with its layout: more is not to be had without knowing the
  // release, or what its author had in mind.
  Tally by_question, by_layout;
  // The most frequent answer of the other families in the same situation: what counting recipes comes to for a model
  // that is not among them.
  Tally by_other_families;
};
Ceiling CeilingOf(const std::vector<Published>& rows);

}  // namespace flightplan
