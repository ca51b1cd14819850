#include "clients/cli/report.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "gtest/gtest.h"

namespace flightplan::cli {
namespace {

size_t CountOf(absl::string_view text, absl::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != absl::string_view::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(Report, HoldsWhatWasAskedAndAnswered) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("m");
  v1::ResolveConfigResponse answer;
  answer.set_digest("d");
  const std::string page = RenderReport({.command = "resolve",
                                         .line = "flightplan resolve",
                                         .text = "a page",
                                         .calls = {Recorded("ResolverService/ResolveConfig", request, answer)}});
  EXPECT_TRUE(absl::StartsWith(page, "<!doctype html>"));
  EXPECT_TRUE(absl::StrContains(page, "<title>flightplan resolve, Flightplan</title>"));
  EXPECT_TRUE(absl::StrContains(page, "<pre>a page</pre>"));
  EXPECT_TRUE(absl::StrContains(page, absl::StrCat("\ncall flightplan.v1.ResolverService/ResolveConfig ",
                                                   absl::Base64Escape(request.SerializeAsString()), " ",
                                                   absl::Base64Escape(answer.SerializeAsString()), "\n")));
}

TEST(Report, NothingInItCanEndAnElementOrTakeAnotherPlace) {
  const std::string hostile = "</script><script>alert(1)</script>%%report%%%%title%%";
  const std::string empty = RenderReport({});
  const std::string page =
      RenderReport({.command = hostile, .line = hostile, .text = hostile, .names = {hostile}, .diff = hostile});
  EXPECT_EQ(CountOf(page, "<script"), CountOf(empty, "<script"));
  EXPECT_EQ(CountOf(page, "</script"), CountOf(empty, "</script"));
  EXPECT_TRUE(absl::StrContains(page, "<pre>&lt;/script&gt;"));
}

TEST(Report, NamesTheCommandAsItIsTyped) {
  EXPECT_EQ(LineOf("resolve", {"--model", "it's"}), R"(flightplan resolve --model 'it'\''s')");
}

TEST(Report, CarriesNoSecrets) {
  v1::ResolveConfigRequest request;
  (*request.mutable_env())["HF_TOKEN"] = "s3cr3tvalu3";
  v1::ResolveConfigResponse answer;
  (*answer.add_launches()->mutable_env())["HF_TOKEN"] = "s3cr3tvalu3";
  answer.mutable_launches(0)->set_text("export HF_TOKEN=s3cr3tvalu3\n");
  const RecordedCall call = Recorded("ResolverService/ResolveConfig", request, answer);
  const std::string line = LineOf("resolve", {"--env", "HF_TOKEN=s3cr3tvalu3", "--env=A_KEY=s3cr3tvalu3"});
  EXPECT_EQ(line, "flightplan resolve --env 'HF_TOKEN=***' '--env=A_KEY=***'");
  for (const std::string& text : {call.request, call.answer, line, RenderReport({.text = "HF_TOKEN=s3cr3tvalu3"})}) {
    EXPECT_FALSE(absl::StrContains(text, "s3cr3tvalu3")) << text.substr(0, 200);
  }
}

TEST(Report, HasTheSameBytesEachTime) {
  v1::ResolveConfigRequest one, other;
  for (int i = 0; i < 20; ++i) (*one.mutable_env())[absl::StrCat("V", i)] = "1";
  for (int i = 19; i >= 0; --i) (*other.mutable_env())[absl::StrCat("V", i)] = "1";
  EXPECT_EQ(Recorded("x", one, other).request, Recorded("x", other, one).request);
}

}  // namespace
}  // namespace flightplan::cli
