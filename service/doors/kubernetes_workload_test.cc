#include "service/doors/kubernetes_workload.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace flightplan::doors {
namespace {

Workload Read(const std::string& json) {
  rapidjson::Document object;
  object.Parse(json.c_str());
  EXPECT_FALSE(object.HasParseError()) << json;
  return ReadWorkload(object);
}

// A Job of one pod whose container runs train.py with `args` in the environment `env`.
Workload Job(absl::string_view env, absl::string_view args) {
  return Read(absl::StrCat(
      R"({"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": {"containers": [
         {"command": ["python", "train.py"], "args": [)",
      args, R"(], "env": [)", env, "]}]}}}}"));
}

TEST(Variables, AreMadeOfThoseBeforeThem) {
  const Workload job = Job(R"j({"name": "NODES", "value": "4"}, {"name": "GPUS", "value": "$(NODES)8"},
                              {"name": "LATE", "value": "$(LATER)"}, {"name": "LATER", "value": "1"},
                              {"name": "COST", "value": "$$(NODES)"}, {"name": "BOTH", "value": "$(GPUS)-$(NODES)"})j",
                           R"j("$(BOTH)")j");
  const EnvVars expected = {{"NODES", "4"}, {"GPUS", "48"},       {"LATE", "$(LATER)"},
                            {"LATER", "1"}, {"COST", "$(NODES)"}, {"BOTH", "48-4"}};
  EXPECT_EQ(job.vars, expected);
  EXPECT_TRUE(absl::StrContains(job.script, "48-4")) << job.script;
}

TEST(Variables, OfWhatStandsElsewhereAreUnknown) {
  const Workload job = Job(R"j({"name": "TP", "value": "2"}, {"name": "TP", "valueFrom": {"configMapKeyRef": {}}},
                              {"name": "SIZE", "value": "$(TP)"}, {"name": "PP", "value": "1"})j",
                           R"("--x")");
  EXPECT_EQ(job.vars, (EnvVars{{"PP", "1"}}));
}

// Each look-up compares as much as the name has: a name as long as the text, at each of its brackets, took minutes.
TEST(Variables, OfLongNamesStayAsTheyStand) {
  const std::string name(300, 'N'), usual(256, 'U');
  const Workload job = Job(absl::StrCat(R"({"name": ")", name, R"(", "value": "1"}, {"name": ")", usual,
                                        R"j(", "value": "2"}, {"name": "L", "value": "$()j", name,
                                        R"j()"}, {"name": "U", "value": "$()j", usual, R"j()"})j"),
                           R"("--x")");
  EXPECT_EQ(job.vars.at("L"), absl::StrCat("$(", name, ")"));
  EXPECT_EQ(job.vars.at("U"), "2");
}

TEST(Variables, HaveABound) {
  std::string env = absl::StrCat(R"({"name": "A0", "value": ")", std::string(1 << 10, 'x'), R"("})");
  for (int i = 1; i < 40; ++i) {
    absl::StrAppend(&env, R"(, {"name": "A)", i, R"(", "value": "$(A)", i - 1, ")$(A", i - 1, ")\"}");
  }
  const Workload job = Job(env, R"("--x")");
  ASSERT_TRUE(job.skip.has_value());
  EXPECT_TRUE(job.skip->unread);
  EXPECT_TRUE(absl::StrContains(job.skip->why, "KiB")) << job.skip->why;
}

// 16 containers of 2^20 GPUs in 2^40 pods are 2^64 GPUs, which 64 bits have as none.
TEST(Gpus, AreNotToldWhereTheyAreTooManyToCount) {
  std::string containers;
  for (int i = 0; i < 16; ++i) {
    absl::StrAppend(&containers, i == 0 ? "" : ", ", R"({"resources": {"limits": {"nvidia.com/gpu": 1048576}}})");
  }
  const std::string few = R"({"replicas": 2, "template": {"spec": {"template": {"spec": {"containers": [
      {"command": ["python", "train.py"], "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}}}})";
  const auto set = [&](const std::string& more) {
    return Read(absl::StrCat(R"({"apiVersion": "jobset.x-k8s.io/v1", "kind": "JobSet", "spec": {"replicatedJobs": [)",
                             few, more, "]}}"));
  };
  EXPECT_EQ(set("").gpus, 16);
  EXPECT_EQ(set(absl::StrCat(R"(, {"replicas": 1048576, "template": {"spec": {"parallelism": 1048576, "template":
                                {"spec": {"containers": [)",
                             containers, "]}}}}}"))
                .gpus,
            std::nullopt);
}

}  // namespace
}  // namespace flightplan::doors
