// A rule: one record of data and one small pure function.
//
// Two kinds live here. A *check* looks at the configuration and may produce a finding. A *change* repeats what the
// target stack silently does to a configuration (default, migration, overwrite). Both carry their place in upstream's
// order (`at`), and the engine runs them strictly in that order, so that every check sees what upstream's check sees.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/found.h"
#include "resolver/plan/phase.h"
#include "resolver/plan/pipeline_layout.h"
#include "resolver/plan/stack.h"

namespace flightplan {

struct Place {
  Phase phase;
  int line = 0;  // upstream's line, or any number that keeps the order within the phase
  int sub = 0;   // order within one line
};

// A fixed-capacity list usable in constant initializers.
template <typename T, size_t N>
struct ConstList {
  std::array<T, N> items{};
  size_t size = 0;
  constexpr ConstList() = default;
  constexpr ConstList(std::initializer_list<T> list) {
    for (const T& item : list) items[size++] = item;
  }
  constexpr const T* begin() const { return items.data(); }
  constexpr const T* end() const { return items.data() + size; }
};
using KnobList = ConstList<Knob, 10>;
using NameList = ConstList<absl::string_view, 4>;

// What a rule has looked at.
struct Reads {
  std::vector<Knob> knobs;        // their values; one more than once, where it was
  std::vector<Knob> origins;      // where their values come from
  std::vector<std::string> vars;  // environment variables
  bool elsewhere = false;         // anything else that a request may change
};

// What the rule functions see, with short names for the questions upstream's code asks.
class Facts {
 public:
  // `reads`: where to note what is read; null: nowhere. The target and its releases are not noted.
  Facts(const Config& c, const Environment& e, const Found& found, Reads* reads = nullptr)
      : config_(c), env_(e), found_(found), reads_(reads) {}
  Facts(const Facts&) = delete;  // a copy would read layouts again
  Facts& operator=(const Facts&) = delete;

  const Config& config() const {
    if (reads_ != nullptr) reads_->elsewhere = true;
    return config_;
  }
  const Environment& env() const {
    if (reads_ != nullptr) reads_->elsewhere = true;
    return env_;
  }
  // What the phases before found out.
  const Found& found() const {
    if (reads_ != nullptr) reads_->elsewhere = true;
    return found_;
  }
  Target target() const { return env_.target; }
  const Stack& stack() const { return StackOf(env_); }
  bool command_line() const { return stack().command_line; }
  bool container() const { return stack().container; }
  bool fork() const { return stack().fork; }  // of Megatron-Core

  const Value& value(Knob k) const {
    if (reads_ != nullptr) reads_->knobs.push_back(k);
    return config_.Get(k);
  }
  Origin origin(Knob k) const {
    if (reads_ != nullptr) reads_->origins.push_back(k);
    return config_.origin(k);
  }
  bool none(Knob k) const { return value(k).is_none(); }
  bool set(Knob k) const { return !value(k).is_none(); }
  bool on(Knob k) const { return value(k).truthy(); }  // Python's truth
  int64_t num(Knob k) const { return value(k).integer(); }
  double real(Knob k) const { return value(k).real(); }
  absl::string_view text(Knob k) const { return value(k).text(); }
  bool is(Knob k, absl::string_view text) const { return value(k).is_text() && value(k).text() == text; }
  bool in(Knob k, std::initializer_list<absl::string_view> texts) const;
  // Python's `item in knob` for a list of strings.
  bool has(Knob k, absl::string_view item) const;
  bool moe() const { return num(Knob::num_moe_experts) > 0; }
  // A parallel size: unset is 1.
  int64_t size(Knob k) const { return std::max<int64_t>(1, num(k)); }
  bool given(Knob k) const { return Config::Given(origin(k)); }
  // Value of an environment variable; empty view when unset.
  absl::string_view var(absl::string_view name) const;
  bool var_set(absl::string_view name) const { return FindVar(name) != env_.vars.end(); }
  bool te_installed() const { return !env().te_stated || env_.te.has_value(); }
  bool te_at_least(absl::string_view version) const { return !env().te_stated || AtLeast(env_.te, version); }
  bool torch_at_least(absl::string_view version) const { return !env().torch_stated || AtLeast(env_.torch, version); }
  bool core(int since, int until = kMain) const { return ReleaseRange{since, until}.Contains(env_.core_release); }
  bool bridge(int since, int until = kMain) const { return ReleaseRange{since, until}.Contains(env_.bridge_release); }
  // pipeline_model_parallel_layout as read for the pipeline size; null when it is unset. Read once per value.
  const PipelineLayout* layout() const;
  // Its stages as the command line counts them; nothing when it cannot be read (derive/pipeline.h).
  std::optional<int64_t> layout_stages() const;

 private:
  struct ReadLayout {
    Value text;
    int64_t pipeline_size = 0;
    PipelineLayout layout;
  };
  EnvVars::const_iterator FindVar(absl::string_view name) const {
    if (reads_ != nullptr) reads_->vars.emplace_back(name);
    return env_.vars.find(name);
  }
  const Config& config_;
  const Environment& env_;
  const Found& found_;
  Reads* const reads_;
  mutable std::optional<ReadLayout> layout_;
};

struct Rule;

// What a change has written and nobody has taken note of yet.
struct Writes {
  std::vector<Knob> knobs;
  std::vector<std::string> vars;  // environment variables
  bool empty() const { return knobs.empty() && vars.empty(); }
  void Clear() {
    knobs.clear();
    vars.clear();
  }
};

// What a change may do. It records the trace; a write that changes nothing leaves none.
class Editor {
 public:
  // `found` must outlive the editor.
  Editor(Config* config, Environment* env, const Found& found, std::vector<ConfigChange>* trace, Reads* reads = nullptr)
      : config_(config), env_(env), trace_(trace), reads_(reads), facts_(*config, *env, found, reads) {}
  const Facts& facts() const { return facts_; }
  void Set(Knob knob, Value value);
  void SetVar(absl::string_view name, absl::string_view value);
  // The value of a field that nobody wrote, where upstream builds an object only now: no news, so no trace.
  void Fill(Knob knob, Value value);
  Environment& env() {
    if (reads_ != nullptr) reads_->elsewhere = true;
    return *env_;
  }

  // Used by the engine: which rule is writing, and what was written since it last cleared this.
  void Begin(const Rule* rule) { rule_ = rule; }
  Writes& writes() { return writes_; }

 private:
  Config* config_;
  Environment* env_;
  std::vector<ConfigChange>* trace_;
  Reads* reads_;
  Writes writes_;
  Facts facts_;
  const Rule* rule_ = nullptr;
};

// A value as a table spells it.
struct Literal {
  enum Kind { kNone, kBool, kInt, kText, kTextList } kind = kNone;
  bool b = false;
  int64_t i = 0;
  absl::string_view s;
  constexpr Literal() = default;
  constexpr Literal(bool v) : kind(kBool), b(v) {}                    // NOLINT(google-explicit-constructor)
  constexpr Literal(int v) : kind(kInt), i(v) {}                      // NOLINT(google-explicit-constructor)
  constexpr Literal(int64_t v) : kind(kInt), i(v) {}                  // NOLINT(google-explicit-constructor)
  constexpr Literal(absl::string_view v) : kind(kText), s(v) {}       // NOLINT(google-explicit-constructor)
  constexpr Literal(const char* v) : kind(kText), s(v) {}             // NOLINT(google-explicit-constructor)
  static constexpr Literal List(absl::string_view comma_separated) {  // "" is the empty list
    Literal l;
    l.kind = kTextList;
    l.s = comma_separated;
    return l;
  }
  Value ToValue() const;
  explicit operator Value() const { return ToValue(); }
};
inline constexpr Literal kUnset{};  // None

struct StaticAssignment {
  Knob knob{};
  Literal value;
  absl::string_view env_var{};  // set for an environment variable
};
using StaticPatch = ConstList<StaticAssignment, 4>;
using StaticFixes = ConstList<StaticPatch, 4>;

enum class Kind { kError, kWarning, kInfo, kChange };

struct Rule {
  absl::string_view id;          // as in the rule book, never reused
  absl::string_view formerly{};  // an id that it had, which answers and logs of old name
  absl::string_view cli_id{};    // its id in the table of command-line rules, where the same check has another there
  absl::string_view area;        // "recompute", "ep-overlap" ...
  Kind kind = Kind::kError;
  bool spoils = false;  // of a warning: training goes on, to NaN or on wrong numbers; no fix of another may bring it
  Place at{};
  absl::string_view source;  // "megatron/core/transformer/transformer_config.py:1914"; repository by the phase
  // Releases of Megatron-Core (core) and Megatron-Bridge (bridge) it holds for. Both must match; `core` is judged for
  // every target, `bridge` only where the target is Megatron-Bridge.
  ReleaseRange core{};
  ReleaseRange bridge{};
  KnobList reads{};
  NameList reads_env{};  // environment variables, "te", "torch", "gpu", "world_size" ...

  // Checks.
  bool (*when)(const Facts&) = nullptr;               // true: the rule fires
  absl::string_view needs{};                          // what must hold instead, one plain sentence
  StaticFixes fixes{};                                // patches, best first
  std::vector<Patch> (*fix)(const Facts&) = nullptr;  // patches that depend on values; come before `fixes`
  std::string (*detail)(const Facts&) = nullptr;      // formula and values, when the reads alone do not show it

  // Changes.
  void (*change)(Editor&) = nullptr;
};

// Every topic file defines one of these; rules/registry.cc is generated from the file list.
using RuleList = absl::Span<const Rule>;

// `when` of a rule whose finding the reader of the words makes: its row says what it means.
inline bool FoundByReader(const Facts&) { return false; }

// Short helpers for dynamic fixes.
inline Assignment Assign(Knob knob, Value value) { return Assignment{knob, "", std::move(value)}; }
inline Assignment AssignVar(absl::string_view name, absl::string_view value) {
  return Assignment{Knob{}, std::string(name), Value(value)};
}

}  // namespace flightplan
