// Where the rules of this folder come from: NVIDIA/Megatron-LM@d98e8a64dd. One macro writes a rule's place in
// upstream's order and its citation, so that the two cannot drift apart. Used inside a Rule initializer after .kind:
//   {.id = "...", .area = "...", TRANSFORMER_CONFIG(1914), .reads = ...}
#pragma once

#include "resolver/rules/rule.h"

// megatron/core/transformer/transformer_config.py, TransformerConfig.__post_init__.
#define TRANSFORMER_CONFIG(line_number) \
  .at = {Phase::kModel, line_number},   \
  .source = "Megatron-LM:megatron/core/transformer/transformer_config.py:" #line_number

// megatron/core/model_parallel_config.py: the base class, whose __post_init__ runs first.
#define MODEL_PARALLEL_CONFIG(line_number)    \
  .at = {Phase::kModel, (line_number)-10000}, \
  .source = "Megatron-LM:megatron/core/model_parallel_config.py:" #line_number

// megatron/core/transformer/pipeline_parallel_layer_layout.py, called from transformer_config.py:2264 (reading) and
// :2290 (validation).
#define LAYOUT_READING(line_number)         \
  .at = {Phase::kModel, 2264, line_number}, \
  .source = "Megatron-LM:megatron/core/transformer/pipeline_parallel_layer_layout.py:" #line_number
#define LAYOUT_VALIDATION(line_number)      \
  .at = {Phase::kModel, 2290, line_number}, \
  .source = "Megatron-LM:megatron/core/transformer/pipeline_parallel_layer_layout.py:" #line_number

// megatron/core/transformer/cuda_graph_config.py, called from the given line of transformer_config.py.
#define CUDA_GRAPH_CONFIG(line_number, called_from) \
  .at = {Phase::kModel, called_from, line_number},  \
  .source = "Megatron-LM:megatron/core/transformer/cuda_graph_config.py:" #line_number

// transformer_config.py, MLATransformerConfig.__post_init__.
#define MLA_TRANSFORMER_CONFIG(line_number) \
  .at = {Phase::kModelMla, line_number},    \
  .source = "Megatron-LM:megatron/core/transformer/transformer_config.py:" #line_number

// A check that only older releases have, at the line of that release; `place` is where main would have it.
#define OLDER_TRANSFORMER_CONFIG(release, line_number, place) \
  .at = {Phase::kModel, place},                               \
  .source = "Megatron-LM " release ":megatron/core/transformer/transformer_config.py:" #line_number
