#include "probe/fit/alpha_beta.h"

#include <algorithm>
#include <cmath>

#include "probe/fit/least_squares.h"

namespace flightplan::fit {
namespace {

using Piece = AlphaBeta::Piece;

// Weighted for relative residuals; neither coefficient may be negative: a transfer takes no less than nothing.
Piece FitPiece(const Sample* begin, const Sample* end) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const Sample* at = begin; at != end; ++at) {
    const double sigma = SigmaOf(*at) * at->y, weight = 1 / (sigma * sigma);
    w += weight;
    wx += weight * at->x;
    wy += weight * at->y;
    wxx += weight * at->x * at->x;
    wxy += weight * at->x * at->y;
  }
  const double determinant = w * wxx - wx * wx;
  Piece piece;
  if (determinant > 1e-12 * w * wxx) {
    piece.us_per_byte = (w * wxy - wx * wy) / determinant;
    piece.alpha_us = (wy - piece.us_per_byte * wx) / w;
  }
  if (piece.us_per_byte < 0 || determinant <= 1e-12 * w * wxx) return {wy / w, 0};
  if (piece.alpha_us < 0) return {0, wxy / wxx};
  return piece;
}

double CostOf(const Piece& piece, const Sample* begin, const Sample* end) {
  double cost = 0;
  for (const Sample* at = begin; at != end; ++at) {
    const double r = (piece.alpha_us + piece.us_per_byte * at->x - at->y) / (SigmaOf(*at) * at->y);
    cost += r * r;
  }
  return cost;
}

}  // namespace

std::optional<AlphaBeta> FitAlphaBeta(const std::vector<Sample>& samples) {
  std::vector<Sample> points = Usable(samples);
  std::sort(points.begin(), points.end(), [](const Sample& a, const Sample& b) { return a.x < b.x; });
  if (points.size() < 2 || points.front().x == points.back().x) return std::nullopt;
  const Sample *begin = points.data(), *end = begin + points.size();
  AlphaBeta fit;
  fit.large = FitPiece(begin, end);
  const double one = CostOf(fit.large, begin, end);
  double best = one;
  // Each piece has two coefficients and the split is a fifth: less than three points a piece would show nothing.
  for (const Sample* split = begin + 3; split + 3 <= end; ++split) {
    if (split->x == (split - 1)->x) continue;
    const Piece small = FitPiece(begin, split), large = FitPiece(split, end);
    const double cost = CostOf(small, begin, split) + CostOf(large, split, end);
    if (cost >= best) continue;
    best = cost;
    fit.small = small;
    fit.large = large;
    fit.split_bytes = std::sqrt(split->x * (split - 1)->x);
  }
  // Three more parameters must pay for themselves (Bayesian information criterion).
  const double price = 3 * std::log(static_cast<double>(points.size()));
  if (fit.split_bytes > 0 && one - best < price) {
    fit.large = FitPiece(begin, end);
    fit.split_bytes = 0;
  }
  if (fit.split_bytes == 0) fit.small = fit.large;
  std::vector<double> residuals;
  residuals.reserve(points.size());
  for (const Sample& point : points) residuals.push_back(fit.Us(point.x) / point.y - 1);
  fit.error = ErrorOfResiduals(residuals, points, fit.split_bytes > 0 ? 5 : 2);
  return fit;
}

}  // namespace flightplan::fit
