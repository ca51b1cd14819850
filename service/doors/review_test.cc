#include "service/doors/review.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::doors {
namespace {

void AddFix(const char* knob, int value, v1::Finding* finding) {
  v1::KnobSetting* const setting = finding->add_fixes()->add_knobs();
  setting->set_name(knob);
  setting->mutable_value()->set_int_value(value);
}

// What is needed may say what each fix comes to, so that none of them may be missing.
TEST(Review, NamesEveryFix) {
  v1::ValidateConfigResponse response;
  response.set_target("megatron-lm main");
  v1::Finding* const finding = response.add_findings();
  finding->set_severity(v1::SEVERITY_ERROR);
  finding->set_rule_id("fit.memory");
  finding->set_seen("82 GiB of 80");
  AddFix("tensor_model_parallel_size", 2, finding);
  AddFix("context_parallel_size", 2, finding);
  const Review review = ReviewOf({}, response);
  ASSERT_EQ(review.lines.size(), 1);
  EXPECT_EQ(review.lines[0].fix, "--tensor-model-parallel-size 2");
  EXPECT_EQ(review.lines[0].other_fixes, std::vector<std::string>{"--context-parallel-size 2"});
  EXPECT_EQ(review.lines[0].Text(),
            "82 GiB of 80; fix: --tensor-model-parallel-size 2; or: --context-parallel-size 2 [fit.memory]");
}

TEST(Review, ALauncherOfAnotherSizeThanItsJobIsWarnedOf) {
  v1::ValidateConfigResponse response;
  response.set_completeness(v1::COMPLETENESS_FULL);
  Question question;
  question.launched = 8;
  EXPECT_EQ(ReviewOf(question, response).verdict, Verdict::kAllowed);
  question.allocated = 4;
  const Review review = ReviewOf(question, response);
  EXPECT_EQ(review.verdict, Verdict::kWarned);
  ASSERT_EQ(review.lines.size(), 1);
  EXPECT_EQ(review.lines[0].rule_id, "launch.world-size");
  EXPECT_EQ(review.lines[0].seen, "the launcher starts 8 processes, the job asks for 4 GPUs");
  response.set_completeness(v1::COMPLETENESS_NONE);
  EXPECT_EQ(ReviewOf(question, response).verdict, Verdict::kNotJudged);
}

TEST(Release, IsOfAStackThatIsKnown) {
  for (const char* release : {"megatron-lm@0.17", "megatron-bridge@main", "loongforge@v0.1.0", "loongforge"}) {
    EXPECT_TRUE(CheckRelease(release).ok()) << release << ": " << CheckRelease(release);
  }
  constexpr std::pair<const char*, const char*> kWrong[] = {{"megatron-lm@", "NAME@VERSION"},
                                                            {"foo@1", "of megatron-lm, "},
                                                            {"megatron-ml@0.17", "nearest is megatron-lm"},
                                                            {"megatron-lm@newest", "a release such as"}};
  for (const auto& [release, right] : kWrong) {
    const absl::Status status = CheckRelease(release);
    EXPECT_TRUE(absl::StrContains(status.message(), right)) << release << ": " << status;
  }
}

}  // namespace
}  // namespace flightplan::doors
