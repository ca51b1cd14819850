#include "resolver/judge/open_model.h"

#include "resolver/plan/stack.h"
#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

using K = Knob;

struct Size {
  K knob{};
  absl::string_view name, what, before, example;
};
constexpr Size kSizes[] = {
    {K::num_layers, "num_layers", "how many layers the model has, which the source does not say", "--num-layers ",
     "32"},
    {K::hidden_size, "hidden_size", "the width of the model, which the source does not say", "--hidden-size ", "4096"},
    {K::num_attention_heads, "num_attention_heads",
     "how many attention heads the model has; the source says neither this nor the rest of the architecture",
     "--num-attention-heads ", "32"},
    {K::seq_length, "seq_length", "the length of a sample, which the source does not say", "--seq-length ", "4096"},
    {K::max_position_embeddings, "max_position_embeddings",
     "how many positions the model has: no fewer than seq_length", "--max-position-embeddings ", "4096"},
    {K::micro_batch_size, "micro_batch_size", "how many samples a GPU takes at once, which the source does not say",
     "--micro-batch-size ", "1"},
};

}  // namespace

bool ModelLeftOpen(const Environment& env, const Config& config, const Knowledge& knowledge) {
  const Stack& stack = StackOf(env);
  if (!stack.container && !stack.hf_models) return false;
  return !knowledge.model_named && !config.Given(K::hidden_size);
}

bool LeftOpen(Knob knob, const Environment& env, const Config& config, const Knowledge& knowledge) {
  if (!ModelLeftOpen(env, config, knowledge) || knowledge.shown.contains(knob)) return false;
  // A recipe sets whatever it likes; a model's folder, or a container without a recipe, leaves open what the model is.
  const bool recipe = StackOf(env).container && !knowledge.elsewhere.empty();
  return recipe || Row(knob).knob_class == KnobClass::kConvergence;
}

void AskForSizes(const Environment& env, const Config& config, Launch* launch) {
  if (!StackOf(env).command_line || !config.Get(K::hybrid_layer_pattern).is_none()) return;
  for (const Size& size : kSizes) {
    if (config.Get(size.knob).truthy()) continue;  // none, or the 0 of a class that has no size of its own
    AskForWord(size.name, size.what, size.before, "N", size.example, launch);
  }
}

}  // namespace flightplan
