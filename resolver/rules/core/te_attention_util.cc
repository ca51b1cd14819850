#include "resolver/rules/core/te_attention_util.h"

#include <algorithm>
#include <cstddef>

#include "resolver/base/integers.h"
#include "resolver/rules/core/hybrid_util.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// Tokens to the left and to the right; none where both are unlimited or causal.
bool HasWindow(F f) {
  const Value::List& window = f.value(K::window_size).list();
  return window.size() == 2 && !(window[0].integer() == -1 && window[1].integer() <= 0);
}

// Layers count from 1 (megatron/core/transformer/utils.py, is_layer_window_attention).
bool IsWindowed(const Value& skip, int64_t layer) {
  if (skip.is_none()) return true;
  if (!skip.is_list()) return !Divisible(layer, skip.integer());
  return layer <= static_cast<int64_t>(skip.list().size()) && skip.list()[static_cast<size_t>(layer - 1)].truthy();
}

bool AnyWindowed(F f) {
  const Value& skip = f.value(K::window_attn_skip_freq);
  if (!HasWindow(f)) return false;
  if (!skip.is_list()) return IsWindowed(skip, 1);
  return std::any_of(skip.list().begin(), skip.list().end(), [](const Value& layer) { return layer.truthy(); });
}

int64_t RanksInside(F f) {
  const Value::List& sizes = f.value(K::hierarchical_context_parallel_sizes).list();
  return sizes.empty() ? 1 : std::max<int64_t>(1, sizes[0].integer());
}

absl::string_view ExchangeOf(F f, const Value& type) {
  if (type.is_none()) return "p2p";
  const Value::List& sizes = f.value(K::hierarchical_context_parallel_sizes).list();
  if (type.text() != "a2a+p2p" || sizes.size() != 2) return type.text();
  if (sizes[0].integer() == 1) return "p2p";
  return sizes[1].integer() == 1 ? "a2a" : "a2a+p2p";
}

Assignment TypeForAll(F f, absl::string_view type) {
  return Assign(K::cp_comm_type, f.command_line() ? Value(Value::List{type}) : Value(type));
}

}  // namespace

bool GatedDeltaNet(const Facts& f) {
  // Up to core 0.19 the variant is called gated_delta_net, and the newer names are accepted and never checked.
  if (!f.core(kMain)) return f.is(Knob::experimental_attention_variant, "gated_delta_net");
  return f.in(Knob::experimental_attention_variant, {"gdn", "gdn2"});
}

bool HasTeAttention(F f) {
  if (f.fork() || f.on(K::spec) || !f.is(K::transformer_impl, "transformer_engine")) return false;
  const bool own = f.set(K::experimental_attention_variant) &&
                   !f.in(K::experimental_attention_variant, {"gdn", "gdn2", "gated_delta_net"});
  if (own) return false;
  return !HasPattern(f) || PatternNames(f, '*');
}

bool HeadsDivide(F f, int64_t ranks) {
  const int64_t tp = std::max<int64_t>(1, f.num(K::tensor_model_parallel_size));
  const int64_t heads = f.num(K::num_attention_heads);
  // The command line takes groups where they are asked for alone; more ranks than groups repeat them.
  const bool grouped = !f.on(K::multi_latent_attention) && f.set(K::num_query_groups) &&
                       (!f.command_line() || f.on(K::group_query_attention));
  const int64_t groups = grouped ? f.num(K::num_query_groups) : heads;
  return Divisible(heads / tp, ranks) && Divisible(std::max<int64_t>(1, groups / tp), ranks);
}

bool AnyExchange(F f, bool (*is)(F f, absl::string_view type, bool windowed)) {
  const Value& types = f.value(K::cp_comm_type);
  const Value& skip = f.value(K::window_attn_skip_freq);
  if (!types.is_list() || types.list().size() == 1) {
    const absl::string_view type = ExchangeOf(f, types.is_list() ? types.list()[0] : types);
    return is(f, type, AnyWindowed(f));
  }
  // Which layers of gated delta net and of a pattern exchange keys is not asked here.
  if (f.set(K::experimental_attention_variant) || IsHybridModel(f)) return false;
  for (size_t i = 0; i < types.list().size(); ++i) {
    const bool windowed = HasWindow(f) && IsWindowed(skip, static_cast<int64_t>(i) + 1);
    if (is(f, ExchangeOf(f, types.list()[i]), windowed)) return true;
  }
  return false;
}

bool DealsHeadsUnevenly(F f, absl::string_view type, bool) {
  if (type == "a2a") return !HeadsDivide(f, f.num(K::context_parallel_size));
  return type == "a2a+p2p" && !HeadsDivide(f, RanksInside(f));
}
bool CutsWindow(F, absl::string_view type, bool windowed) { return windowed && (type == "p2p" || type == "a2a+p2p"); }
bool CutsSinks(F f, absl::string_view type, bool) { return HasSinks(f) && type != "a2a"; }

bool ServesAllLayers(F f, absl::string_view type) {
  return !DealsHeadsUnevenly(f, type, false) && !CutsWindow(f, type, AnyWindowed(f)) && !CutsSinks(f, type, false);
}

std::vector<Patch> ExchangesLeft(F f) {
  std::vector<Patch> patches;
  for (const absl::string_view type : {"p2p", "a2a", "all_gather"}) {
    if (!ServesAllLayers(f, type)) continue;
    patches.push_back({TypeForAll(f, type)});
    break;
  }
  // Sinks have the all-to-all alone: as many ranks as it serves.
  int64_t ranks = f.num(K::context_parallel_size);
  do {
    ranks = patches.empty() ? LargestDivisorUpTo(ranks, ranks - 1) : 1;
  } while (ranks > 1 && !HeadsDivide(f, ranks));
  Patch fewer = {Assign(K::context_parallel_size, ranks)};
  if (ranks > 1) fewer.push_back(TypeForAll(f, "a2a"));
  if (f.set(K::hierarchical_context_parallel_sizes)) {
    fewer.push_back(Assign(K::hierarchical_context_parallel_sizes, Value()));
    if (ranks == 1) fewer.push_back(Assign(K::cp_comm_type, Value()));
  }
  patches.push_back(std::move(fewer));
  return patches;
}

}  // namespace flightplan
