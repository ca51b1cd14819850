#include "service/observe/decision_tail.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/fleet_service.pb.h"
#include "resolver/base/work.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::service {
namespace {

class DecisionTailTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) const {
    std::ofstream(folder_.File("log"), std::ios::binary) << text;
    return folder_.File("log");
  }
  // A line of second `at`.
  static std::string Line(int at, const std::string& tenant, const std::string& outcome, const std::string& rules) {
    return absl::StrCat(R"({"ts":"2026-11-25T12:00:)", at < 10 ? "0" : "", at,
                        R"(.250Z","rpc":"/flightplan.v1.ResolverService/ResolveConfig","tenant":")", tenant,
                        R"(","duration_ms":1.5,"decision_id":"fp1-)", at,
                        R"(","target":"megatron-lm main","outcome":")", outcome, R"(","rule_ids":[)", rules,
                        R"(],"request":"c2VjcmV0"})", "\n");
  }
  v1::SummarizeDecisionsResponse Ask(const std::string& path, const v1::SummarizeDecisionsRequest& request = {},
                                     size_t bytes = kMaxTailBytes) {
    v1::SummarizeDecisionsResponse answer;
    EXPECT_TRUE(SummarizeDecisions(path, request, &answer, bytes).ok());
    return answer;
  }

  const TemporaryFolder folder_;
};

const char kRules[] = R"("a.one","b.two","a.one")";

TEST_F(DecisionTailTest, NewestFirstWithSumsByTenantAndRule) {
  const std::string path = Write(Line(1, "red", "resolved", kRules) + Line(2, "blue", "infeasible", R"("b.two")") +
                                 Line(3, "red", "rejected", R"("b.two")"));
  const v1::SummarizeDecisionsResponse answer = Ask(path);
  ASSERT_EQ(answer.decisions_size(), 3);
  EXPECT_EQ(answer.decisions(0).digest(), "fp1-3");
  EXPECT_EQ(answer.decisions(0).rpc(), "ResolveConfig");
  EXPECT_EQ(answer.decisions(0).time().nanos(), 250'000'000);
  EXPECT_EQ(answer.decisions(2).rule_ids_size(), 2);
  EXPECT_EQ(answer.decisions(0).duration_us(), 1500);
  EXPECT_EQ(answer.decision_count(), 3);
  EXPECT_TRUE(answer.whole());
  EXPECT_EQ(answer.oldest_time().seconds() + 2, answer.decisions(0).time().seconds());
  ASSERT_EQ(answer.tenants_size(), 2);
  EXPECT_EQ(answer.tenants(0).name(), "red");
  EXPECT_EQ(answer.tenants(0).decision_count(), 2);
  EXPECT_EQ(answer.tenants(0).refused_count(), 1);
  EXPECT_EQ(answer.tenants(0).distinct_count(), 2);
  ASSERT_EQ(answer.rules_size(), 2);
  EXPECT_EQ(answer.rules(0).name(), "b.two");
  EXPECT_EQ(answer.rules(0).decision_count(), 3);
  EXPECT_EQ(answer.rules(0).refused_count(), 2);
  EXPECT_EQ(answer.rules(0).distinct_count(), 2);
  // The request stands in the log, and not here.
  EXPECT_FALSE(absl::StrContains(answer.SerializeAsString(), "c2VjcmV0"));
}

TEST_F(DecisionTailTest, OfOneTenantAndOneRule) {
  const std::string path = Write(Line(1, "red", "resolved", kRules) + Line(2, "blue", "infeasible", R"("b.two")"));
  v1::SummarizeDecisionsRequest request;
  request.set_tenant("blue");
  EXPECT_EQ(Ask(path, request).decision_count(), 1);
  request.set_rule_id("a.one");
  EXPECT_EQ(Ask(path, request).decision_count(), 0);
  request.clear_tenant();
  request.set_max_decision_count(1);
  EXPECT_EQ(Ask(path, request).decisions(0).tenant(), "red");
}

TEST_F(DecisionTailTest, ADoorsReviewHasItsVerdictAndNoNames) {
  const std::string path =
      Write(R"({"ts":"2026-11-25T12:00:00Z","rpc":"/admission/v1/validate","outcome":"accepted","door":"kubernetes",)"
            R"("door_verdict":"refused","door_allowed":"no","door_object":"PyTorchJob a/b","door_user":"eve",)"
            R"("door_reason":"quoted","door_findings":["a.one"]})"
            "\n");
  const v1::SummarizeDecisionsResponse answer = Ask(path);
  ASSERT_EQ(answer.decisions_size(), 1);
  EXPECT_EQ(answer.decisions(0).outcome(), "refused");
  EXPECT_EQ(answer.decisions(0).rpc(), "/admission/v1/validate");
  EXPECT_EQ(answer.tenants(0).refused_count(), 1);
  EXPECT_EQ(answer.rules(0).name(), "a.one");
  for (const char* name : {"PyTorchJob", "eve", "quoted"}) {
    EXPECT_FALSE(absl::StrContains(answer.SerializeAsString(), name)) << name;
  }
}

TEST_F(DecisionTailTest, ReadsTheEndAlone) {
  std::string text;
  for (int at = 0; at < 60; ++at) text += Line(at, "red", "resolved", kRules);
  const size_t line = Line(10, "red", "resolved", kRules).size();
  const v1::SummarizeDecisionsResponse answer = Ask(Write(text), {}, 2 * line + 5);
  EXPECT_FALSE(answer.whole());
  EXPECT_EQ(answer.decision_count(), 2);
  EXPECT_EQ(answer.unreadable_count(), 0);
  EXPECT_EQ(answer.read_bytes(), static_cast<int64_t>(2 * line + 5));
  EXPECT_EQ(answer.decisions(1).digest(), "fp1-58");
}

TEST_F(DecisionTailTest, LinesThatAreNoneAreCounted) {
  std::string deep(100'000, '[');
  const std::string path =
      Write(absl::StrCat("null\n", deep, "\n{\"ts\":\"yesterday\",\"rpc\":\"x\"}\n\n", std::string("\0\xff\n", 3),
                         Line(1, "red", "resolved", R"(1,null,"x")"), R"({"ts":"2026-)"));
  const v1::SummarizeDecisionsResponse answer = Ask(path);
  EXPECT_EQ(answer.decision_count(), 1);
  EXPECT_EQ(answer.unreadable_count(), 5);
  EXPECT_EQ(answer.decisions(0).rule_ids_size(), 1);
  EXPECT_EQ(Ask(Write("")).decision_count(), 0);
  EXPECT_EQ(Ask(Write("no end")).unreadable_count(), 0);
}

TEST_F(DecisionTailTest, WhatItSendsIsBounded) {
  std::string rules, text;
  for (int i = 0; i < 700; ++i) absl::StrAppend(&rules, i == 0 ? "" : ",", "\"rule.", i, "\"");
  text += Line(0, "red", "resolved", rules);
  for (int i = 0; i < 1200; ++i) text += Line(i % 60, absl::StrCat("t", i), "resolved", absl::StrCat("\"r", i, "\""));
  v1::SummarizeDecisionsRequest request;
  request.set_max_decision_count(1000);
  const v1::SummarizeDecisionsResponse answer = Ask(Write(text), request);
  EXPECT_EQ(answer.decisions_size(), 1000);
  EXPECT_EQ(answer.decision_count(), 1201);
  EXPECT_EQ(answer.tenants_size(), 200);
  EXPECT_EQ(answer.rules_size(), 500);
  EXPECT_LT(answer.ByteSizeLong(), size_t{4} << 20);
}

TEST_F(DecisionTailTest, Refuses) {
  v1::SummarizeDecisionsRequest request;
  v1::SummarizeDecisionsResponse answer;
  EXPECT_EQ(SummarizeDecisions(folder_.File("none"), request, &answer).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_EQ(::mkfifo(folder_.File("pipe").c_str(), 0600), 0);
  EXPECT_EQ(SummarizeDecisions(folder_.File("pipe"), request, &answer).code(), absl::StatusCode::kFailedPrecondition);
  const std::string path = Write(Line(1, "red", "resolved", kRules));
  for (const int count : {0, -1, 1001}) {
    request.set_max_decision_count(count);
    EXPECT_EQ(SummarizeDecisions(path, request, &answer).code(), absl::StatusCode::kInvalidArgument) << count;
  }
  request.clear_max_decision_count();
  const Work work(10);
  EXPECT_EQ(SummarizeDecisions(path, request, &answer).code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace flightplan::service
