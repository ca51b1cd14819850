#include "resolver/layouts/no_layout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/base/integers.h"
#include "resolver/base/thousands.h"
#include "resolver/base/work.h"
#include "resolver/planner/bounds.h"
#include "resolver/planner/pipelines.h"

namespace flightplan {
namespace {

bool AnyLayout(const ModelShape& shape, const LayoutQuestion& question) {
  bool any = false;
  const auto take = [&any](const LayoutSizes&) {
    any = true;
    return false;
  };
  VisitLayouts(
      shape, question, [](const LayoutSizes&) {}, take);
  return any;
}

// What divides the sequence where both sizes are given: CP gives each rank a part from the front and one from the back.
int64_t SequenceUnit(const LayoutQuestion& question) {
  const int64_t tp = question.sequence_parallel && question.wish.tp > 1 ? question.wish.tp : 1;
  return tp * (question.wish.cp > 1 ? 2 * int64_t{question.wish.cp} : 1);
}

// The sizes that may be given, with their knobs.
struct GivenSize {
  const char* knob;
  int64_t (*read)(const LayoutSizes&);
  void (*open)(LayoutSizes*);
};
template <auto kSize>
constexpr GivenSize Given(const char* knob) {
  return {knob, [](const LayoutSizes& sizes) -> int64_t { return sizes.*kSize; },
          [](LayoutSizes* sizes) { sizes->*kSize = 0; }};
}
constexpr GivenSize kGivenSizes[] = {Given<&LayoutSizes::tp>("tensor_model_parallel_size"),
                                     Given<&LayoutSizes::pp>("pipeline_model_parallel_size"),
                                     Given<&LayoutSizes::vpp>("virtual_pipeline_model_parallel_size"),
                                     Given<&LayoutSizes::cp>("context_parallel_size"),
                                     Given<&LayoutSizes::ep>("expert_model_parallel_size"),
                                     Given<&LayoutSizes::etp>("expert_tensor_parallel_size"),
                                     Given<&LayoutSizes::micro_batch_size>("micro_batch_size")};

// "tensor_model_parallel_size=1, 2, 4 or 8": what one of the sizes may be beside the others that are given.
std::string Choices(const LayoutSearch& search, LayoutSizes given, const GivenSize& size) {
  LayoutQuestion open = search.question.layout;
  open.allowed = nullptr;
  size.open(&given);
  open.wish = given;
  std::set<int64_t> values;
  VisitLayouts(
      search.shape, open, [](const LayoutSizes&) {},
      [&](const LayoutSizes& sizes) {
        values.insert(size.read(sizes));
        return true;
      });
  if (values.empty()) return "";
  const std::string last = absl::StrCat(*values.rbegin());
  values.erase(std::prev(values.end()));
  return absl::StrCat(size.knob, "=", absl::StrJoin(values, ", "), values.empty() ? "" : " or ", last);
}

// Sizes that are given, and of each what it may be instead: of one where the others may stay; where none is enough, of
// those that no layout has, whatever the others are.
struct Faults {
  std::vector<std::string> sizes, choices;
};

Faults OneAtFault(const LayoutSearch& search) {
  const LayoutSizes& wish = search.question.layout.wish;
  Faults given;
  for (const GivenSize& size : kGivenSizes) {
    if (size.read(wish) <= 0) continue;
    given.sizes.push_back(absl::StrCat(size.knob, "=", size.read(wish)));
    if (std::string choice = Choices(search, wish, size); !choice.empty()) given.choices.push_back(std::move(choice));
  }
  return given;
}

Faults EachAtFault(const LayoutSearch& search) {
  Faults given;
  for (const GivenSize& size : kGivenSizes) {
    LayoutQuestion alone = search.question.layout;
    if (size.read(alone.wish) <= 0) continue;
    for (const GivenSize& other : kGivenSizes) {
      if (&other != &size) other.open(&alone.wish);
    }
    alone.allowed = nullptr;
    if (AnyLayout(search.shape, alone)) continue;
    given.sizes.push_back(absl::StrCat(size.knob, "=", size.read(alone.wish)));
    if (std::string choice = Choices(search, {}, size); !choice.empty()) given.choices.push_back(std::move(choice));
  }
  return given;
}

// What parameters, gradients and optimizer state take of a GPU at the least, of all layouts; 0: there is none. How many
// sequences a microbatch has, and how many chunks a rank, is next to nothing to them.
double LeastStaticBytes(const LayoutSearch& search) {
  LayoutQuestion layouts = search.question.layout;
  layouts.allowed = nullptr;
  if (layouts.wish.vpp == 0) layouts.wish.vpp = 1;
  if (layouts.wish.micro_batch_size == 0) layouts.wish.micro_batch_size = 1;
  const Bounds bounds(search.question);
  Pipelines pipelines(search.question);
  StagesAtHand stages(search.question);
  double least = 0;
  VisitLayouts(
      search.shape, layouts, [](const LayoutSizes&) {},
      [&](const LayoutSizes& sizes) {
        const std::vector<Split>& splits = pipelines.Of(sizes.pp, sizes.vpp).splits;
        for (size_t i = 0; i < splits.size(); ++i) {
          const double bytes = bounds.StaticBytes(sizes, *stages.Of(sizes, splits[i], i));
          if (least == 0 || bytes < least) least = bytes;
        }
        return true;
      });
  return least;
}

// On how many GPUs those fit, doubled until they do. The question's own count: they are not what lacks; 0: not known.
int64_t GpusForState(const NormalizedIntent& question) {
  constexpr int kMostDoublings = 10;
  int64_t gpus = question.gpu_count;
  for (int i = 0; i <= kMostDoublings; ++i, gpus *= 2) {
    NormalizedIntent intent = question;
    intent.gpu_count = gpus;
    intent.env.world_size = gpus;
    LayoutSearch search;
    if (!PrepareSearch(std::move(intent), &search).ok() || search.question.memory.capacity <= 0) return 0;
    const double least = LeastStaticBytes(search);
    if (Work::Spent()) return 0;
    if (least > 0 && least <= search.question.memory.capacity) return gpus;
  }
  return 0;
}

std::string GivenSizes(const LayoutSizes& wish) {
  std::string text;
  const auto add = [&](const char* name, int64_t size) {
    if (size > 1) absl::StrAppend(&text, text.empty() ? "" : ", ", name, "=", size);
  };
  add("tensor_model_parallel_size", wish.tp);
  add("context_parallel_size", wish.cp);
  return text;
}

}  // namespace

std::string WhatWouldFit(const LayoutSearch& search) {
  const int64_t gpus = GpusForState(search.intent);
  const bool state_fits = gpus == search.intent.gpu_count;
  std::string text = "more GPUs";
  if (gpus > search.intent.gpu_count) {
    absl::StrAppend(&text, " (parameters, gradients and optimizer state fit from about ", WithThousands(gpus),
                    " of this kind on)");
  }
  std::vector<absl::string_view> others = {"GPUs with more memory"};
  if (state_fits) others.emplace_back("a shorter sequence");
  const bool given = std::any_of(std::begin(kGivenSizes), std::end(kGivenSizes),
                                 [&](const GivenSize& size) { return size.read(search.given) > 0; });
  if (given) others.emplace_back("fewer given sizes");
  for (const absl::string_view& other : others)
    absl::StrAppend(&text, &other == &others.back() ? ", or " : ", ", other);
  return text;
}

NoLayout WhyNoLayout(const LayoutSearch& search) {
  const LayoutQuestion& asked = search.question.layout;
  const int64_t unit = SequenceUnit(asked);
  if (asked.seq_length % unit != 0) {
    LayoutQuestion even = asked;
    even.seq_length = NextMultiple(asked.seq_length, unit).value_or(asked.seq_length);
    even.allowed = nullptr;
    if (AnyLayout(search.shape, even)) {
      return {absl::StrCat("seq_length=", asked.seq_length, ", ", GivenSizes(asked.wish),
                           ": they split the sequence, which does not divide by ", unit),
              absl::StrCat("a multiple of ", unit, ", such as --seq ", even.seq_length,
                           ", or other sizes: sequence parallelism splits the sequence over TP ranks, and context "
                           "parallelism over 2 x CP chunks")};
    }
  }
  const std::string there =
      absl::StrCat(": no layout of this model on ", WithThousands(asked.gpus), " GPUs with a global batch of ",
                   WithThousands(asked.global_batch_size), " has ");
  if (const Faults one = OneAtFault(search); !one.choices.empty()) {
    const bool several = one.sizes.size() > 1;
    return {absl::StrCat(absl::StrJoin(one.sizes, ", "), there, several ? "them" : "it"),
            absl::StrCat(several ? "one of them otherwise: " : "", absl::StrJoin(one.choices, "; "))};
  }
  if (const Faults each = EachAtFault(search); !each.choices.empty()) {
    return {absl::StrCat(absl::StrJoin(each.sizes, ", "), there, each.sizes.size() > 1 ? "any of them" : "it"),
            absl::StrJoin(each.choices, "; ")};
  }
  return {absl::StrCat("no sizes divide ", WithThousands(asked.gpus), " GPUs and a global batch of ",
                       WithThousands(asked.global_batch_size)),
          "a GPU count and a batch with common divisors; fewer given sizes"};
}

}  // namespace flightplan
