#include "probe/kernels/shapes.h"

#include <algorithm>
#include <random>

namespace flightplan::probe {

std::map<std::string, double> RoutedParameters(const MoeShape& shape) {
  return {{"tokens", shape.tokens}, {"hidden", shape.hidden}, {"topk", shape.topk}, {"experts", shape.experts}};
}

std::vector<int> RandomExperts(const MoeShape& shape) {
  std::mt19937 random(7);
  std::vector<int> all(static_cast<size_t>(shape.experts)), chosen;
  for (int e = 0; e < shape.experts; ++e) all[static_cast<size_t>(e)] = e;
  for (int t = 0; t < shape.tokens; ++t) {
    for (int k = 0; k < shape.topk; ++k) {  // the first K of a shuffle
      const unsigned left = static_cast<unsigned>(shape.experts - k);
      std::swap(all[static_cast<size_t>(k)], all[static_cast<size_t>(k) + random() % left]);
      chosen.push_back(all[static_cast<size_t>(k)]);
    }
  }
  return chosen;
}

std::vector<int> RowMap(const MoeShape& shape, const std::vector<int>& experts) {
  std::vector<int> next(static_cast<size_t>(shape.experts) + 1), map;
  for (const int expert : experts) ++next[static_cast<size_t>(expert) + 1];
  for (size_t e = 1; e < next.size(); ++e) next[e] += next[e - 1];
  map.reserve(experts.size());
  for (const int expert : experts) map.push_back(next[static_cast<size_t>(expert)]++);
  return map;
}

}  // namespace flightplan::probe
