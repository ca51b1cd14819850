// A configuration: one value per knob, and where each value came from. Copies share what they do not change, so that a
// copy costs a few pointers: the pipeline keeps one configuration per phase.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "resolver/base/counted.h"
#include "resolver/plan/knob.h"

namespace flightplan {

enum class Origin : uint8_t {
  kAbsent,    // the target's release has no such knob, or nothing set it yet
  kDefault,   // the upstream class default
  kModel,     // from the model's architecture
  kCaller,    // written by the caller: never changed by us, only (and visibly) by upstream's own rules
  kDecided,   // chosen by one of our decisions
  kUpstream,  // set by a default, migration or overwrite of the target stack
};

class Config {
 public:
  Config() { pages_.fill(EmptyPage()); }
  Config(const Config& other) noexcept : pages_(other.pages_), counted_(other.counted_) {
    ForEachBit(counted_, [&](size_t i) { pages_[i]->Hold(); });
  }
  Config(Config&& other) noexcept : pages_(other.pages_), counted_(std::exchange(other.counted_, 0)) {
    other.pages_.fill(EmptyPage());
  }
  Config& operator=(Config other) noexcept {
    pages_.swap(other.pages_);
    std::swap(counted_, other.counted_);
    return *this;
  }
  ~Config() {
    ForEachBit(counted_, [&](size_t i) {
      if (pages_[i]->Drop()) delete pages_[i];
    });
  }

  const Value& Get(Knob knob) const { return PageOf(knob).values[Slot(knob)]; }
  Origin origin(Knob knob) const { return PageOf(knob).origins[Slot(knob)]; }
  // True when the caller, the model or a decision gave it: not a default, not absent.
  bool Given(Knob knob) const { return Given(origin(knob)); }
  static bool Given(Origin origin) { return origin >= Origin::kModel && origin != Origin::kUpstream; }
  void Set(Knob knob, Value value, Origin origin) {
    Page* page = OwnPage(Index(knob) / kPageKnobs);
    const size_t slot = Slot(knob);
    page->values[slot] = std::move(value);
    page->origins[slot] = origin;
    const uint32_t bit = uint32_t{1} << slot;
    page->not_default = origin > Origin::kDefault ? page->not_default | bit : page->not_default & ~bit;
    page->touched |= bit;
    page->counted = Counts(page->values[slot]) ? page->counted | bit : page->counted & ~bit;
  }

  // Calls visit(knob) for every knob that is neither absent nor a class default, in the order of the knob table. A
  // knob that `visit` sets may or may not be visited.
  template <typename Visitor>
  void ForEachNotDefault(Visitor visit) const {
    for (size_t i = 0; i < kPages; ++i) {
      ForEachBit(pages_[i]->not_default, [&](size_t slot) { visit(static_cast<Knob>(i * kPageKnobs + slot)); });
    }
  }

  // Calls visit(knob, same_value) for every knob whose value or origin may not be that of `other`, a configuration that
  // is kept forever. Quick where this one was made from it: what was never set is not looked at.
  template <typename Visitor>
  void ForEachDifference(const Config& other, Visitor visit) const {
    for (size_t i = 0; i < kPages; ++i) {
      const Page& page = *pages_[i];
      const Page& others = *other.pages_[i];
      if (&page == &others) continue;
      ForEachBit(page.kept == &others ? page.touched : ~uint32_t{0}, [&](size_t slot) {
        const bool same = Value::Identical(page.values[slot], others.values[slot]);
        if (!same || page.origins[slot] != others.origins[slot]) visit(static_cast<Knob>(i * kPageKnobs + slot), same);
      });
    }
  }

  // For the default configurations, which live as long as the process: copies of them are no longer counted.
  void KeepForever();

 private:
  static constexpr size_t kPageKnobs = 32;
  static constexpr size_t kPages = (kKnobCount + kPageKnobs - 1) / kPageKnobs;
  // Whether a copy of the value is counted: all others are their bytes.
  static bool Counts(const Value& value) { return value.is_text() || value.is_list(); }
  template <typename Bits, typename Visitor>
  static void ForEachBit(Bits bits, Visitor visit) {
    for (; bits != 0; bits &= bits - 1) visit(static_cast<size_t>(std::countr_zero(bits)));
  }

  struct Page : Counted {
    Page() : values() {}
    Page(const Page& other);
    Page& operator=(const Page&) = delete;
    ~Page() {
      ForEachBit(counted, [&](size_t slot) { values[slot].~Value(); });
    }
    // In a union, since most of them are copied by their bytes and want no end.
    union {
      std::array<Value, kPageKnobs> values;
    };
    std::array<Origin, kPageKnobs> origins{};
    uint32_t not_default = 0;    // bit i: origins[i] > kDefault
    uint32_t touched = 0;        // bit i: set since `kept`
    uint32_t counted = 0;        // bit i: copies of values[i] are counted, which they are not once it is kept forever
    const Page* kept = nullptr;  // the page kept forever that this one was copied from, or is
  };

  static size_t Index(Knob knob) { return static_cast<size_t>(knob); }
  static size_t Slot(Knob knob) { return Index(knob) % kPageKnobs; }
  static const Page* EmptyPage();
  const Page& PageOf(Knob knob) const { return *pages_[Index(knob) / kPageKnobs]; }
  // The page, copied first when others hold it too.
  Page* OwnPage(size_t index);

  std::array<const Page*, kPages> pages_;
  uint64_t counted_ = 0;  // bit i: pages_[i] is not one that is kept forever
  static_assert(kPages <= 64);
};

}  // namespace flightplan
