// Adds what a launch of Megatron-LM, or of a fork with its flags, needs to start besides its plan.
#pragma once

#include "resolver/render/launch.h"

namespace flightplan {

// `tokenizer`: how the program takes a real one.
struct TokenizerWords {
  absl::string_view spelling, placeholder, example;
  absl::string_view without = {};  // what happens where none is given; empty: nothing starts
};
inline constexpr TokenizerWords kMegatronTokenizer = {
    "--tokenizer-type HuggingFaceTokenizer --tokenizer-model PATH",
    "--tokenizer-type HuggingFaceTokenizer --tokenizer-model \"${TOKENIZER_MODEL:?folder or name of the tokenizer}\"",
    "--tokenizer-type NullTokenizer --vocab-size 32000", "it takes GPT-2's tokenizer and downloads it"};
inline constexpr TokenizerWords kLoongForgeTokenizer = {
    "--tokenizer-type HFTokenizer --hf-tokenizer-path PATH",
    "--tokenizer-type HFTokenizer --hf-tokenizer-path \"${TOKENIZER_MODEL:?folder or name of the tokenizer}\"",
    "--tokenizer-type HFTokenizer --hf-tokenizer-path /models/tokenizer"};

void AskForStart(const RenderInput& input, const TokenizerWords& tokenizer, Launch* launch);

}  // namespace flightplan
