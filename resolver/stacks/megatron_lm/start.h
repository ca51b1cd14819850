// Adds what a launch of Megatron-LM, or of a fork with its flags, needs to start besides its plan.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "resolver/render/launch.h"

namespace flightplan {

// How the program takes a real tokenizer and real data, and whether it starts without.
struct StartWords {
  absl::string_view spelling, placeholder, example;  // of the tokenizer
  absl::string_view without = {};                    // what happens where none is given; empty: nothing starts
  absl::string_view data = "what to train on: prefixes of .bin and .idx files, with their weights; or --mock-data";
  bool mocks = true;                       // it trains on mock data, with a tokenizer of numbers
  std::optional<int64_t> vocab_size = {};  // for that tokenizer, where the words say none
};
inline constexpr StartWords kMegatronStart = {
    "--tokenizer-type HuggingFaceTokenizer --tokenizer-model PATH",
    "--tokenizer-type HuggingFaceTokenizer --tokenizer-model \"${TOKENIZER_MODEL:?folder or name of the tokenizer}\"",
    "--tokenizer-type NullTokenizer --vocab-size 32000", "it takes GPT-2's tokenizer and downloads it"};
inline constexpr StartWords kLoongForgeStart = {
    "--tokenizer-type HFTokenizer --hf-tokenizer-path PATH",
    "--tokenizer-type HFTokenizer --hf-tokenizer-path \"${TOKENIZER_MODEL:?folder or name of the tokenizer}\"",
    "--tokenizer-type HFTokenizer --hf-tokenizer-path /models/tokenizer"};

void AskForStart(const RenderInput& input, const StartWords& start, Launch* launch);

}  // namespace flightplan
