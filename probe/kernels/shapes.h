// The one shape that the default profile is measured at: a rank of Qwen3-30B-A3B with expert parallelism 8, as in the
// published A/B runs. Curves over rows, bytes and SMs carry the figures to other shapes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "probe/status.h"

namespace flightplan::probe {

struct MoeShape {
  int tokens = 4096;  // T: one microbatch of one rank
  int hidden = 2048;  // H
  int topk = 8;       // K
  int experts = 128;  // E
  int ffn = 768;      // F: of one expert
  int ranks = 8;      // R
  int heads = 32;     // of the queries; keys and values have fewer
  int kv_heads = 4;
  int head_dim = 128;
  int sequence = 4096;  // positions of one sample

  int local_experts() const { return experts / ranks; }
  int64_t rows() const { return int64_t{tokens} * topk; }
  int64_t token_bytes() const { return 2 * int64_t{hidden}; }
};

// For checks alone: small, so that a memory checker or a CPU gets through, and with an edge in every dimension: nothing
// is a whole number of tiles.
constexpr MoeShape CheckShape() {
  return {.tokens = 136,
          .hidden = 264,
          .topk = 8,
          .experts = 40,
          .ffn = 104,
          .ranks = 8,
          .heads = 2,
          .kv_heads = 1,
          .head_dim = 64,
          .sequence = 72};
}

// The counts of experts of a token that kernels are built for: those of published models.
inline constexpr int kTopks[] = {1, 2, 3, 4, 6, 8, 10, 16, 22};
inline constexpr int kMostTopk = 22;
inline constexpr int kMostExperts = 1024;  // of all ranks: the router's warp holds 32 a lane

// Sizes that are given as "hidden=4096,topk=6,experts=64,ranks=8"; the others stay. kBadOption: what is wrong, and what
// would be right.
Status ReadShape(const std::string& text, MoeShape* shape);

// "tokens 4096, hidden 2048, ...", for the notes of a profile.
std::string Describe(const MoeShape& shape);

// tokens, hidden, topk and experts: the parameters of every row that depends on how tokens are routed.
std::map<std::string, double> RoutedParameters(const MoeShape& shape);

// Experts of every token in [token][k], all different, uniformly at random; the same on every call.
std::vector<int> RandomExperts(const MoeShape& shape);

// Row of each (token, k) when rows are ordered by expert, then by token.
std::vector<int> RowMap(const MoeShape& shape, const std::vector<int>& experts);

}  // namespace flightplan::probe
