#include "resolver/stacks/megatron_lm/start.h"

#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

using K = Knob;

// megatron/training/training.py:2586, core/optimizer_param_scheduler.py:148. pretrain_gpt.py:527 has a tokenizer of its
// own where none is named.
void AskForTraining(const Config& config, const TokenizerWords& tokenizer, Launch* launch) {
  if (!config.Get(K::train_iters).truthy() && !config.Get(K::train_samples).truthy()) {
    Ask({"train_iters", "how many iterations to train", "--train-iters N", "--train-iters 1000", ""},
        "--train-iters \"${TRAIN_ITERS:?how many iterations to train}\"", launch);
  }
  if (config.Get(K::lr).is_none()) {
    Ask({"lr", "the highest learning rate", "--lr VALUE", "--lr 1e-4", ""}, "--lr \"${LR:?the highest learning rate}\"",
        launch);
  }
  if (config.Get(K::tokenizer_type).is_none()) {
    Ask({"tokenizer", "the tokenizer of the data", std::string(tokenizer.spelling), std::string(tokenizer.example),
         tokenizer.without},
        tokenizer.placeholder, launch);
  }
  // core/datasets/blended_megatron_dataset_config.py:138.
  if (!config.Get(K::data_path).truthy() && !config.Get(K::mock_data).truthy()) {
    Ask({"data", "what to train on: prefixes of .bin and .idx files, with their weights", "--data-path PREFIX",
         "--data-path /data/corpus_text_document", "it trains on mock data"},
        "--data-path \"${DATA_PATH:?prefix of the .bin and .idx files; or --mock-data}\"", launch);
  }
  if (config.Get(K::save).is_none()) {
    Ask({"save", "where checkpoints go", "--save FOLDER --save-interval N", "--save /checkpoints --save-interval 500",
         "it keeps no checkpoint"},
        "", launch);
  }
}

}  // namespace

void AskForStart(const RenderInput& input, const TokenizerWords& tokenizer, Launch* launch) {
  AskForNodes(input.env, launch);
  if (!input.benchmark) return AskForTraining(input.config, tokenizer, launch);
  const Config& config = input.config;
  if (!config.Get(K::train_iters).truthy() && !config.Get(K::train_samples).truthy()) {
    Append({"--train-iters", "50"}, launch);
  }
  if (config.Get(K::lr).is_none()) Append({"--lr", "1e-4"}, launch);
  if (config.Get(K::tokenizer_type).is_none()) Append({"--tokenizer-type", "NullTokenizer"}, launch);
  if (!config.Get(K::data_path).truthy() && !config.Get(K::mock_data).truthy()) Append({"--mock-data"}, launch);
}

}  // namespace flightplan
