// Bytes of an element, and tokens of a microbatch, that layers are made of.
#include <algorithm>

#include "resolver/base/real.h"
#include "resolver/derive/layer_bytes.h"

namespace flightplan {

double StreamBytes(const Candidate& c) { return c.precision == GemmPrecision::kFp32 || c.fp32_values ? 4 : 2; }

double ResidualBytes(const Candidate& c) { return c.fp32_residual ? kFp32Bytes : StreamBytes(c); }

double GemmInputBytes(const Candidate& c) {
  switch (c.precision) {
    case GemmPrecision::kBf16:
    case GemmPrecision::kFp16:
      return 2;
    case GemmPrecision::kFp32:
      return 4;
    case GemmPrecision::kFp8Delayed:
    case GemmPrecision::kFp8Tensorwise:
      return 1;
    case GemmPrecision::kFp8Blockwise:
      return 1 + 4.0 / 128;  // an FP32 scale for 128 values
    case GemmPrecision::kMxfp8:
      return 1 + 1.0 / 32;  // a scale of one byte for 32 values
    case GemmPrecision::kNvfp4:
      return 0.5 + 1.0 / 16;  // a scale of one byte for 16 values
  }
  return 2;
}

double ShardTokens(const Candidate& c) { return D(c.seq_length) * D(c.micro_batch_size) / c.cp; }

double StreamTokens(const Candidate& c) { return ShardTokens(c) / (c.sequence_parallel ? c.tp : 1); }

double LayerInputBytes(const ModelShape& shape, const Candidate& c) {
  const double tokens = c.distribute_saved ? ShardTokens(c) / c.tp : StreamTokens(c);
  return ResidualBytes(c) * D(shape.hidden) * std::max(1.0, D(shape.residual_streams)) * tokens;
}

}  // namespace flightplan
