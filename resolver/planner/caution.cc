#include "resolver/planner/caution.h"

#include <iterator>

#include "resolver/estimate/memory.h"

namespace flightplan {
namespace {

using Sizes = const LayoutSizes&;
using Context = const CautionContext&;

struct CautionRule {
  Caution caution;
  bool (*holds)(Sizes, Context);
};

int64_t DataParallel(Sizes s, Context c) { return c.gpus / (int64_t{s.tp} * s.cp * s.pp); }

// Ratios are what the step forecast is off by at nine in ten rows of a family that it does not know (18 %,
// tests/evidence/README.md) where next to nothing is published, and shares of it where some is.
constexpr CautionRule kRules[] = {
    {{"CP at a sequence of 4,096 or less", 0.18, 5},
     [](Sizes s, Context c) { return s.cp > 1 && c.seq_length <= 4096; }},
    {{"CP at a sequence of 8,192 or less", 0.06, 34},
     [](Sizes s, Context c) { return s.cp > 1 && c.seq_length > 4096 && c.seq_length <= 8192; }},
    {{"TP and CP beyond an NVLink domain", 0.18, 0},
     [](Sizes s, Context c) { return int64_t{s.tp} * s.cp > c.domain_gpus; }},
    {{"PP above 8", 0.12, 2}, [](Sizes s, Context) { return s.pp > 8; }},
    {{"PP above 4 without virtual stages", 0.12, 3}, [](Sizes s, Context) { return s.pp > 4 && s.vpp <= 1; }},
    {{"VPP above 12", 0.06, 2}, [](Sizes s, Context) { return s.vpp > 12; }},
    {{"expert tensor parallelism", 0.18, 2}, [](Sizes s, Context c) { return c.moe && s.etp > 1; }},
    {{"experts that are not spread", 0.12, 5}, [](Sizes s, Context c) { return c.moe && s.ep == 1 && c.gpus > 1; }},
    {{"one model in all, no data parallelism", 0.06, 18}, [](Sizes s, Context c) { return DataParallel(s, c) == 1; }},
};
static_assert(std::size(kRules) == kCautions);

// What is computed again.
enum class Repeated : uint8_t { kNothing, kActivations, kProducts, kLayers };

Repeated RepeatedBy(const Candidate& c) {
  if (c.recompute == RecomputeMode::kNone) return Repeated::kNothing;
  if (c.recompute != RecomputeMode::kSelective) return Repeated::kLayers;
  // The up projections of latent attention are computed again as a habit, whatever the microbatch.
  const unsigned modules = c.recompute_modules & ~unsigned{kDropMlaUpProj};
  if (modules == 0) return Repeated::kNothing;
  const bool light = (modules & ~kDropLight) == 0;
  return light ? Repeated::kActivations : Repeated::kProducts;
}

// Of how a layout is executed. Recompute makes room that a smaller microbatch has anyway. Null: none.
const Caution* ExecutionCaution(Repeated repeated, int64_t micro_batch_size) {
  static constexpr Caution kLayers = {"recompute of whole layers", 0.06, 9};
  static constexpr Caution kBatchOfLayers = {"recompute of whole layers with several sequences a microbatch", 0.18, 3};
  static constexpr Caution kBatchOfProducts = {"recompute of matrix products with several sequences a microbatch", 0.18,
                                               5};
  static constexpr Caution kBatchOfActivations = {"recompute with several sequences a microbatch", 0.12, 20};
  const bool several = micro_batch_size > 1;
  switch (repeated) {
    case Repeated::kNothing:
      return nullptr;
    case Repeated::kActivations:
      return several ? &kBatchOfActivations : nullptr;
    case Repeated::kProducts:
      return several ? &kBatchOfProducts : nullptr;
    case Repeated::kLayers:
      return several ? &kBatchOfLayers : &kLayers;
  }
  return nullptr;
}

}  // namespace

const Caution* MemoryCaution(double filled_ratio) {
  static constexpr Caution kTight = {"memory filled to 94 % and more", 0.1, -1};
  static constexpr Caution kFull = {"memory filled to 97 % and more", 0.4, -1};
  return filled_ratio <= kRoom ? nullptr : filled_ratio <= kTightRoom ? &kTight : &kFull;
}

double Cautions::ratio() const {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += held[i]->ratio;
  return sum;
}

Cautions CautionsOf(const LayoutSizes& sizes, const Candidate& executed, const CautionContext& context) {
  Cautions cautions;
  for (const CautionRule& row : kRules) {
    if (row.holds(sizes, context)) cautions.held[cautions.count++] = &row.caution;
  }
  if (const Caution* caution = ExecutionCaution(RepeatedBy(executed), sizes.micro_batch_size)) {
    cautions.held[cautions.count++] = caution;
  }
  if (context.memory != nullptr) cautions.held[cautions.count++] = context.memory;
  return cautions;
}

double CautionRatio(const LayoutSizes& sizes, const CautionContext& context) {
  double ratio = context.memory != nullptr ? context.memory->ratio : 0;
  for (const CautionRule& row : kRules) {
    if (row.holds(sizes, context)) ratio += row.caution.ratio;
  }
  return ratio;
}

}  // namespace flightplan
