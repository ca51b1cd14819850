#include "clients/cli/site.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "clients/cli/command.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::cli {
namespace {

namespace fs = std::filesystem;

class SiteTest : public ::testing::Test {
 protected:
  int Run(const std::string& folder) {
    context_ = Context();
    return RunCommandLine({"site", folder}, context_);
  }
  static std::string Text(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  // What the attributes href and src name.
  static std::set<std::string> Targets(absl::string_view html) {
    std::set<std::string> targets;
    for (const absl::string_view attribute : {" href=\"", " src=\""}) {
      for (size_t at = html.find(attribute); at != html.npos; at = html.find(attribute, at + 1)) {
        const absl::string_view rest = html.substr(at + attribute.size());
        targets.emplace(rest.substr(0, rest.find('"')));
      }
    }
    return targets;
  }

  const TemporaryFolder folder_;
  Context context_;
};

// The records that the page's script gets.
template <class List>
List Held(absl::string_view script, absl::string_view rpc) {
  const std::string begin = absl::StrCat("\"", rpc, "\": \"");
  const absl::string_view rest = script.substr(script.find(begin) + begin.size());
  std::string bytes;
  List list;
  EXPECT_TRUE(absl::Base64Unescape(rest.substr(0, rest.find('"')), &bytes) && list.ParseFromString(bytes)) << rpc;
  return list;
}

TEST_F(SiteTest, EveryRecordHasItsPageAndEveryLinkItsFile) {
  ASSERT_EQ(Run(folder_.path()), kExitOk) << context_.err;
  const std::string records = Text(folder_.File("reference.js"));
  const auto rules = Held<v1::ListRulesResponse>(records, "ListRules");
  const auto knobs = Held<v1::ListKnobsResponse>(records, "ListKnobs");
  const auto models = Held<v1::ListModelsResponse>(records, "ListModels");
  const auto gpus = Held<v1::ListGpusResponse>(records, "ListGpus");
  std::set<std::string> wanted{"index.html", "reference.js", "site.js", "site.css"};
  for (const auto& rule : rules.rules()) wanted.insert(absl::StrCat("rule/", rule.id(), ".html"));
  for (const auto& knob : knobs.knobs()) wanted.insert(absl::StrCat("knob/", knob.name(), ".html"));
  for (const auto& model : models.models()) wanted.insert(absl::StrCat("model/", model.name(), ".html"));
  for (const auto& gpu : gpus.gpus()) wanted.insert(absl::StrCat("gpu/", gpu.name(), ".html"));
  ASSERT_GT(wanted.size(), 2000u);

  std::set<std::string> written;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
    if (!entry.is_regular_file()) continue;
    const fs::path path = fs::relative(entry.path(), folder_.path());
    written.insert(path.string());
    if (path.extension() != ".html") continue;
    const std::string html = Text(entry.path());
    for (const std::string& target : Targets(html)) {
      EXPECT_TRUE(fs::is_regular_file(entry.path().parent_path() / target)) << path << " names " << target;
    }
    EXPECT_TRUE(absl::StrContains(html, "default-src 'none'")) << path;
  }
  EXPECT_EQ(written, wanted);
  EXPECT_TRUE(absl::StrContains(context_.out, absl::StrCat(wanted.size() - 3, " pages: "))) << context_.out;
  // The index names every page without scripts, too.
  EXPECT_EQ(Targets(Text(folder_.File("index.html"))).size(), wanted.size() - 1);
}

TEST_F(SiteTest, APageHoldsTheTerminalsText) {
  ASSERT_EQ(Run(folder_.path()), kExitOk) << context_.err;
  Context explain;
  ASSERT_EQ(RunCommandLine({"explain", "moe_token_dispatcher_type"}, explain), kExitOk);
  const std::string page = Text(folder_.File("knob/moe_token_dispatcher_type.html"));
  EXPECT_TRUE(absl::StrContains(page, explain.out.substr(0, explain.out.find('>')))) << page;
  EXPECT_TRUE(absl::StrContains(page, " data-root=\"../\" data-kind=\"knob\" data-name=\"moe_token_dispatcher_type\""));
  EXPECT_TRUE(absl::StrContains(Text(folder_.File("gpu/h100-sxm.html")), "NVIDIA H100"));
  EXPECT_TRUE(absl::StrContains(Text(folder_.File("model/deepseek-v3.html")), "671 B"));
}

TEST_F(SiteTest, TakesNoFolderThatHoldsSomething) {
  std::ofstream(folder_.File("mine")) << "kept";
  EXPECT_EQ(Run(folder_.path()), kExitMisuse);
  EXPECT_TRUE(absl::StrContains(context_.err, "is not empty")) << context_.err;
  EXPECT_EQ(Text(folder_.File("mine")), "kept");
  EXPECT_EQ(Run(folder_.File("mine")), kExitMisuse) << context_.err;
  EXPECT_TRUE(absl::StrContains(context_.err, "is no folder")) << context_.err;
  EXPECT_EQ(Run(folder_.File("new/below")), kExitOk) << context_.err;
}

TEST_F(SiteTest, LeavesNothingWhereNobodyAnswers) {
  const std::vector<std::string> args = {"site", folder_.File("new"), "--server", "unix:/nowhere/there.sock"};
  EXPECT_EQ(RunCommandLine(args, context_), kExitUnreachable) << context_.err;
  EXPECT_FALSE(fs::exists(folder_.File("new")));
}

TEST(SiteFileName, IsOneThatEveryFileSystemTakes) {
  EXPECT_EQ(SiteFileName("moe-a2a.needs_x-1.5"), "moe-a2a.needs_x-1.5");
  EXPECT_EQ(SiteFileName("a/../b c~é"), "a~2f..~2fb~20c~7e~c3~a9");
}

}  // namespace
}  // namespace flightplan::cli
