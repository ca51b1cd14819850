// The time of a transfer against its bytes: latency and inverse bandwidth, in two pieces, because small messages take
// another protocol than large ones.
#pragma once

#include <optional>
#include <vector>

#include "probe/fit/samples.h"

namespace flightplan::fit {

struct AlphaBeta {
  struct Piece {
    double alpha_us = 0, us_per_byte = 0;
  };
  Piece small, large;
  double split_bytes = 0;  // from here on `large` holds; 0: one piece
  double error = 0;        // relative half-width of Us inside the measured range

  double Us(double bytes) const {
    const Piece& piece = bytes < split_bytes ? small : large;
    return piece.alpha_us + bytes * piece.us_per_byte;
  }
};

// x: bytes, y: microseconds. Nothing with fewer than two usable points of different size; one piece unless two explain
// the points clearly better.
std::optional<AlphaBeta> FitAlphaBeta(const std::vector<Sample>& samples);

}  // namespace flightplan::fit
