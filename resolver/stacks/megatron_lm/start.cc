#include "resolver/stacks/megatron_lm/start.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

using K = Knob;

bool SaysLength(const Config& config) {
  return config.Get(K::train_iters).truthy() || config.Get(K::train_samples).truthy();
}
bool SaysData(const Config& config) { return config.Get(K::data_path).truthy() || config.Get(K::mock_data).truthy(); }

// pretrain_gpt.py:527 has a tokenizer of its own where none is named; LoongForge has none (tokenizer/tokenizer.py:87).
void AskForTokenizer(const Config& config, const StartWords& start, Launch* launch) {
  if (!config.Get(K::tokenizer_type).is_none()) return;
  Ask({"tokenizer", "the tokenizer of the data", std::string(start.spelling), std::string(start.example),
       start.without},
      start.placeholder, launch);
}

// Without a path the configuration says "mock", but the class of the dataset opens a file that is none
// (pretrain_gpt.py:472, core/datasets/blended_megatron_dataset_builder.py:468).
void AskForData(const Config& config, const StartWords& start, Launch* launch) {
  if (SaysData(config)) return;
  Ask({"data", start.data, "--data-path PATH", "--data-path /data/corpus_text_document", ""},
      start.mocks ? "--data-path \"${DATA_PATH:?prefix of the .bin and .idx files; or --mock-data}\""
                  : "--data-path \"${DATA_PATH:?folder of the dataset}\"",
      launch);
}

// megatron/training/training.py:2586, core/optimizer_param_scheduler.py:148.
void AskForTraining(const Config& config, const StartWords& start, Launch* launch) {
  if (!SaysLength(config)) {
    Ask({"train_iters", "how many iterations to train", "--train-iters N", "--train-iters 1000", ""},
        "--train-iters \"${TRAIN_ITERS:?how many iterations to train}\"", launch);
  }
  if (config.Get(K::lr).is_none()) {
    Ask({"lr", "the highest learning rate", "--lr VALUE", "--lr 1e-4", ""}, "--lr \"${LR:?the highest learning rate}\"",
        launch);
  }
  AskForTokenizer(config, start, launch);
  AskForData(config, start, launch);
  if (config.Get(K::save).is_none()) {
    Ask({"save", "where checkpoints go", "--save FOLDER --save-interval N", "--save /checkpoints --save-interval 500",
         "it keeps no checkpoint"},
        "", launch);
  }
}

// What is timed needs no real data, where the program can do without.
void StartBenchmark(const Config& config, const StartWords& start, Launch* launch) {
  if (!SaysLength(config)) Append({"--train-iters", "50"}, launch);
  if (config.Get(K::lr).is_none()) Append({"--lr", "1e-4"}, launch);
  if (!start.mocks) {
    AskForTokenizer(config, start, launch);
    return AskForData(config, start, launch);
  }
  if (config.Get(K::tokenizer_type).is_none()) {
    Append({"--tokenizer-type", "NullTokenizer"}, launch);
    if (start.vocab_size.has_value()) Append({"--vocab-size", absl::StrCat(*start.vocab_size)}, launch);
  }
  if (!SaysData(config)) Append({"--mock-data"}, launch);
}

}  // namespace

void AskForStart(const RenderInput& input, const StartWords& start, Launch* launch) {
  AskForNodes(input.env, launch);
  if (input.benchmark) return StartBenchmark(input.config, start, launch);
  AskForTraining(input.config, start, launch);
}

}  // namespace flightplan
