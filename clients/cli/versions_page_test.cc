#include "clients/cli/versions_page.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "clients/cli/command.h"

namespace flightplan::cli {
namespace {

v1::ValidateConfigResponse Answer(const std::vector<std::string>& errors, int64_t layers) {
  v1::ValidateConfigResponse response;
  response.set_accepted_by_stack(errors.empty());
  response.set_will_run(errors.empty());
  for (const std::string& id : errors) {
    v1::Finding* finding = response.add_findings();
    finding->set_rule_id(id);
    finding->set_severity(v1::SEVERITY_ERROR);
  }
  v1::ConfigEntry* entry = response.add_config();
  entry->set_name("num_layers");
  entry->mutable_value()->set_int_value(layers);
  return response;
}

TEST(CompareReleases, SaysWhatCameWentAndChanged) {
  const ReleaseChange change = CompareReleases(Answer({"a", "b"}, 4), Answer({"b", "c"}, 5));
  EXPECT_EQ(change.new_findings, std::vector<std::string>{"c"});
  EXPECT_EQ(change.gone_findings, std::vector<std::string>{"a"});
  EXPECT_EQ(change.values, std::vector<std::string>{"num_layers: 4 -> 5"});
}

TEST(VersionsPage, HasALineForEachRelease) {
  const std::vector<ReleaseAnswer> answers = {
      {"0.18", Answer({"a"}, 4)}, {"0.19", Answer({}, 4)}, {"main", Answer({}, 4)}};
  const std::string page = RenderVersionsPage("x.sh", "megatron-lm", answers, false, Terminal());
  EXPECT_TRUE(absl::StrContains(page, "-a")) << page;
  EXPECT_TRUE(absl::StrContains(page, "the same")) << page;
  EXPECT_TRUE(absl::StrContains(VersionsJson(answers), "\"gone_findings\": [")) << VersionsJson(answers);
}

TEST(ReleasesOf, AreThoseThatWereRead) {
  EXPECT_EQ(ReleasesOf("megatron-lm"), (std::vector<std::string>{"0.16", "0.17", "0.18", "0.19", "main"}));
  EXPECT_EQ(ReleasesOf("megatron-bridge"), (std::vector<std::string>{"0.4", "0.5", "0.6", "main"}));
  EXPECT_TRUE(ReleasesOf("loongforge").empty());
}

TEST(ValidateAllVersions, JudgesByEveryRelease) {
  Context context;
  EXPECT_NE(RunCommandLine({"validate", "--all-versions", "--format", "json", "--gpus", "8", "--", "--num-layers", "4"},
                           context),
            kExitMisuse)
      << context.err;
  for (const char* release : {"0.16", "0.17", "0.18", "0.19", "main"}) {
    EXPECT_TRUE(absl::StrContains(context.out, absl::StrCat("\"release\": \"", release, "\""))) << context.out;
  }
  Context wrong;
  EXPECT_EQ(RunCommandLine({"validate", "--all-versions", "--target", "loongforge", "--", "--num-layers", "4"}, wrong),
            kExitMisuse);
}

}  // namespace
}  // namespace flightplan::cli
