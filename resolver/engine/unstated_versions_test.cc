// A version that the caller did not state is neither old nor missing: rules that ask for it say so and pass.
#include <algorithm>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "resolver/catalog/defaults.h"
#include "resolver/engine/engine.h"

namespace flightplan {
namespace {

RunResult RunDense(const Environment& env) {
  Config config = DefaultsFor(Target::kCore, env.core_release, kMain, false);
  config.Set(Knob::num_layers, 8, Origin::kCaller);
  config.Set(Knob::hidden_size, 1024, Origin::kCaller);
  config.Set(Knob::num_attention_heads, 16, Origin::kCaller);
  config.Set(Knob::apply_rope_fusion, true, Origin::kCaller);
  config.Set(Knob::moe_permute_fusion, true, Origin::kCaller);
  return Run(config, env);
}

const Finding* Find(const RunResult& result, absl::string_view id) {
  const auto it = std::find_if(result.findings.begin(), result.findings.end(),
                               [id](const Finding& finding) { return finding.rule_id == id; });
  return it == result.findings.end() ? nullptr : &*it;
}

Environment Stack() {
  Environment env;
  env.target = Target::kCore;
  env.torch = Version::Parse("2.9.0");
  return env;
}

TEST(UnstatedVersion, IsNoFaultButAnAssumption) {
  Environment env = Stack();
  env.te_stated = false;
  const RunResult result = RunDense(env);
  const Finding* finding = Find(result, "rope-fusion.te-missing");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kInfo);
  EXPECT_EQ(finding->verdict, Verdict::kAdvice);
  EXPECT_TRUE(finding->fixes.empty());
}

TEST(UnstatedVersion, MissingLibraryIsAFault) {
  const RunResult result = RunDense(Stack());
  const Finding* finding = Find(result, "rope-fusion.te-missing");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kError);
}

TEST(UnstatedVersion, NewEnoughLibraryNeedsNoAssumption) {
  Environment env = Stack();
  env.te = Version::Parse("2.12.0");
  EXPECT_EQ(Find(RunDense(env), "rope-fusion.te-missing"), nullptr);
}

// The stack's own image stands behind what is not stated: one that is too old there is a warning, no refusal.
TEST(UnstatedVersion, SaysWhatTheOwnImageHas) {
  Environment env = Stack();
  env.te_stated = false;
  env.te = Version::Parse("2.12.0");
  const RunResult meets = RunDense(env);
  EXPECT_EQ(Find(meets, "rope-fusion.te-missing"), nullptr) << "any image of these years meets it";
  const auto of_image = [](const Finding& finding) {
    return finding.severity == Severity::kInfo && absl::StrContains(finding.seen, "stack's own image, new enough");
  };
  EXPECT_LE(std::count_if(meets.findings.begin(), meets.findings.end(), of_image), 1) << "one speaks for all";
  const Finding* finding = nullptr;
  env.te = Version::Parse("1.0.0");
  const RunResult old = RunDense(env);
  finding = Find(old, "dispatcher.permute-fusion-te-2.1");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_NE(finding->seen.find("too old in the stack's own image"), std::string::npos) << finding->seen;
  EXPECT_TRUE(finding->fixes.empty());
}

}  // namespace
}  // namespace flightplan
