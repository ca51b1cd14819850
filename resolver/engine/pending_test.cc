#include "resolver/engine/pending.h"

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "resolver/catalog/defaults.h"
#include "resolver/engine/engine.h"
#include "resolver/plan/knob_value.h"

namespace flightplan {
namespace {

class AnyConfig {
 public:
  explicit AnyConfig(unsigned seed) : random_(seed) {}

  size_t Below(size_t n) { return random_() % n; }
  // What a caller could have written; None suits every knob.
  Value ValueOf(Knob knob) {
    for (int tries = 0; tries < 8; ++tries) {
      Value value = Any(knob);
      if (CheckKnobValue(knob, value).ok()) return value;
    }
    return Value();
  }
  Origin AnyOrigin() { return static_cast<Origin>(Below(static_cast<size_t>(Origin::kUpstream) + 1)); }

 private:
  Value Any(Knob knob) {
    const internal::KnobRow& row = Row(knob);
    if (row.choices[0] != '\0') {
      const std::vector<absl::string_view> choices = absl::StrSplit(row.choices, '|');
      return Text(row, choices[Below(choices.size())]);
    }
    switch (Below(6)) {
      case 0:
        return Value();
      case 1:
        return Value(true);
      case 2:
        return Value(static_cast<int64_t>(Below(9)));
      case 3:
        return Value(0.5);
      case 4:
        return Text(row, "full");
      default:
        return Text(row, "attn");
    }
  }
  static Value Text(const internal::KnobRow& row, absl::string_view text) {
    return row.type == ValueType::kStringList ? Value(Value::List{Value(text)}) : Value(text);
  }
  std::mt19937 random_;
};

Environment ForTarget(Target target) {
  Environment env;
  env.target = target;
  env.te_stated = env.torch_stated = false;
  return env;
}

// Every rule of the program on the configuration, in order; those that are not pending must have nothing to say.
void ExpectOnlyPendingRulesAct(Config config, Environment env) {
  const Program& program = Program::For(env.target, env.core_release, env.bridge_release);
  const RecordedReads& reads = program.reads(env.mla);
  RuleSet pending = reads.PendingFor(config, env);
  const Found nothing;
  Editor editor(&config, &env, nothing, nullptr);
  for (size_t i = 0; i < program.steps().size(); ++i) {
    const Program::Step& step = program.steps()[i];
    const bool skipped = pending.Next(i) != i;
    if (step.when != nullptr) {
      EXPECT_FALSE(skipped && step.when(editor.facts())) << step.rule->id;
      continue;
    }
    editor.Begin(step.rule);
    step.change(editor);
    EXPECT_FALSE(skipped && !editor.writes().empty()) << step.rule->id;
    reads.AddReadersOf(editor.writes(), &pending);
    editor.writes().Clear();
  }
}

TEST(PendingRules, AreAllThatHaveSomethingToSay) {
  AnyConfig any(1);
  for (const Target target : {Target::kCore, Target::kMegatronLm, Target::kMegatronBridge, Target::kLoongForge}) {
    for (int round = 0; round < 400; ++round) {
      Environment env = ForTarget(target);
      env.mla = any.Below(2) == 0;
      Config config = DefaultsFor(target, env.core_release, env.bridge_release, env.mla);
      const size_t knobs = any.Below(200);
      for (size_t i = 0; i < knobs; ++i) {
        const Knob knob = static_cast<Knob>(any.Below(kKnobCount));
        config.Set(knob, any.ValueOf(knob), any.AnyOrigin());
      }
      if (any.Below(2) == 0) env.vars["CUDA_DEVICE_MAX_CONNECTIONS"] = any.Below(2) == 0 ? "1" : "32";
      if (any.Below(2) == 0) env.vars["NVTE_ALLOW_NONDETERMINISTIC_ALGO"] = "0";
      // Of more variables than rules read, those that they read are found from the other side.
      for (int i = 0; round % 8 == 0 && i < 500; ++i) env.vars[std::to_string(i)] = "1";
      ExpectOnlyPendingRulesAct(std::move(config), std::move(env));
    }
  }
}

// Whoever hands in a configuration that was not made from the target's own defaults gets the same.
TEST(PendingRules, AreFoundAgainstOtherDefaultsToo) {
  for (const Target from : {Target::kCore, Target::kMegatronBridge}) {
    const Environment env = ForTarget(Target::kMegatronLm);
    ExpectOnlyPendingRulesAct(DefaultsFor(from, kMain, kMain, true), env);
  }
  ExpectOnlyPendingRulesAct(Config(), ForTarget(Target::kMegatronLm));
}

TEST(PendingRules, AreFewOfTheDefaults) {
  const Environment env = ForTarget(Target::kMegatronLm);
  const Program& program = Program::For(env.target, env.core_release, env.bridge_release);
  const Config& defaults = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  const RuleSet pending = program.reads(env.mla).PendingFor(defaults, env);
  size_t count = 0;
  for (size_t i = pending.Next(0); i < program.steps().size(); i = pending.Next(i + 1)) ++count;
  EXPECT_GT(count, 0u);
  EXPECT_LT(count, program.steps().size() / 4);
}

// The nearest known release's rules may ask for the number of this one.
TEST(PendingRules, AreAllForAReleaseThatWasNotRead) {
  Environment env = ForTarget(Target::kMegatronLm);
  env.core_release = 98;
  const Program& program = Program::For(env.target, env.core_release, env.bridge_release);
  const RuleSet pending = program.reads(env.mla).PendingFor(DefaultsFor(env.target, 98, kMain, env.mla), env);
  for (size_t i = 0; i < program.steps().size(); ++i) EXPECT_EQ(pending.Next(i), i);
}

}  // namespace
}  // namespace flightplan
