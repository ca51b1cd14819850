#include "probe/kernels/shapes.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <random>

namespace flightplan::probe {
namespace {

struct Size {
  const char* name;
  int MoeShape::*member;
  int most, multiple;
};
// What kernels and memory take: rows are moved in words of eight numbers. Of many ranks an exchange on one device keeps
// its bytes and goes to fifteen peers.
constexpr Size kSizes[] = {{"tokens", &MoeShape::tokens, 65536, 1},    {"hidden", &MoeShape::hidden, 32768, 8},
                           {"topk", &MoeShape::topk, kMostTopk, 1},    {"experts", &MoeShape::experts, kMostExperts, 1},
                           {"ffn", &MoeShape::ffn, 65536, 8},          {"ranks", &MoeShape::ranks, 1024, 1},
                           {"heads", &MoeShape::heads, 512, 1},        {"kv_heads", &MoeShape::kv_heads, 512, 1},
                           {"head_dim", &MoeShape::head_dim, 1024, 8}, {"sequence", &MoeShape::sequence, 1 << 20, 8}};

Status Wrong(const std::string& what) { return Fail(Code::kBadOption, "--shape: " + what); }

Status ReadSize(const std::string& part, MoeShape* shape) {
  const size_t equals = std::min(part.find('='), part.size());
  const std::string name = part.substr(0, equals);
  const std::string value = equals < part.size() ? part.substr(equals + 1) : "";
  const auto* size = std::find_if(std::begin(kSizes), std::end(kSizes), [&](const Size& s) { return name == s.name; });
  if (size == std::end(kSizes)) {
    std::string names;
    for (const Size& each : kSizes) names += std::string(names.empty() ? "" : ", ") + each.name;
    return Wrong("'" + part + "' names no size; they are " + names);
  }
  int number = 0;
  const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (code != std::errc() || end != value.data() + value.size() || number < 1 || number > size->most ||
      number % size->multiple != 0) {
    return Wrong(name + "=" + value + " must be a number from 1 to " + std::to_string(size->most) +
                 (size->multiple > 1 ? ", a multiple of " + std::to_string(size->multiple) : ""));
  }
  shape->*(size->member) = number;
  return Ok();
}

}  // namespace

Status ReadShape(const std::string& text, MoeShape* shape) {
  for (size_t from = 0; from <= text.size();) {
    const size_t comma = std::min(text.find(',', from), text.size());
    if (Status status = ReadSize(text.substr(from, comma - from), shape); !status.ok()) return status;
    from = comma + 1;
  }
  if (std::find(std::begin(kTopks), std::end(kTopks), shape->topk) == std::end(kTopks)) {
    return Wrong("topk=" + std::to_string(shape->topk) + ": kernels are built for 1, 2, 3, 4, 6, 8, 10, 16 and 22");
  }
  if (shape->ranks < 2 || shape->experts % shape->ranks != 0 || shape->topk > shape->experts) {
    return Wrong("experts=" + std::to_string(shape->experts) + " must be a multiple of ranks=" +
                 std::to_string(shape->ranks) + ", which are two or more, and at least topk");
  }
  if (shape->kv_heads > shape->heads || shape->heads % shape->kv_heads != 0) {
    return Wrong("heads=" + std::to_string(shape->heads) +
                 " must be a multiple of kv_heads=" + std::to_string(shape->kv_heads));
  }
  return Ok();
}

std::string Describe(const MoeShape& shape) {
  std::string text;
  for (const Size& each : kSizes) {
    text += (text.empty() ? "" : ", ") + std::string(each.name) + " " + std::to_string(shape.*(each.member));
  }
  return text;
}

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
