#include "service/web/web_assets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/web/gzip.h"

namespace flightplan::service {
namespace {

using ::testing::HasSubstr;

class WebAssetsTest : public ::testing::Test {
 protected:
  HttpResponse Get(const std::string& path, std::vector<HttpHeader> headers = {}, const std::string& method = "GET") {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.headers = std::move(headers);
    return ServeAsset(assets_, request);
  }
  static std::string Header(const HttpResponse& response, const std::string& name) {
    for (const HttpHeader& header : response.headers) {
      if (header.name == name) return header.value;
    }
    return "";
  }

  const std::string page_ = Gzip("<!doctype html>"), code_ = Gzip("let a;");
  const std::vector<WebAsset> assets_ = {{"/assets/app-1a2b.js", "text/javascript", "\"b\"", code_, 6},
                                         {"/index.html", "text/html", "\"a\"", page_, 15}};
};

TEST_F(WebAssetsTest, ThePageAnswersForEveryPathWithoutAnEnding) {
  for (const char* path : {"/", "/index.html", "/plans", "/script/of/mine"}) {
    const HttpResponse page = Get(path);
    EXPECT_EQ(page.status, 200) << path;
    EXPECT_EQ(page.body, "<!doctype html>");
    EXPECT_EQ(Header(page, "Cache-Control"), "no-cache");
  }
  EXPECT_EQ(Get("/other.js").status, 404);
  EXPECT_EQ(Get("/../etc/passwd.txt").status, 404);
  EXPECT_EQ(Get("/", {}, "POST").status, 405);
}

TEST_F(WebAssetsTest, ThePageIsNoAnswerToAProbe) {
  for (const char* path : {"/healthz", "/readyz", "/livez", "/metrics", "/version"}) {
    const HttpResponse none = Get(path);
    EXPECT_EQ(none.status, 404) << path;
    EXPECT_THAT(none.body, HasSubstr("http_listen"));
  }
}

TEST_F(WebAssetsTest, FilesGoOutPackedToWhomeverTakesIt) {
  const HttpResponse packed = Get("/assets/app-1a2b.js", {{"Accept-Encoding", "br, gzip;q=0.5"}});
  EXPECT_EQ(packed.body, code_);
  EXPECT_EQ(Header(packed, "Content-Encoding"), "gzip");
  EXPECT_THAT(Header(packed, "Cache-Control"), HasSubstr("immutable"));
  for (const char* other : {"br", "gzip;q=0", "br, gzip; q=0.0"}) {
    EXPECT_EQ(Get("/assets/app-1a2b.js", {{"Accept-Encoding", other}}).body, "let a;") << other;
  }
}

TEST_F(WebAssetsTest, WhoHasItIsToldSo) {
  const HttpResponse same = Get("/", {{"If-None-Match", "\"x\", W/\"a\""}});
  EXPECT_EQ(same.status, 304);
  EXPECT_TRUE(same.body.empty());
  EXPECT_EQ(Header(same, "ETag"), "W/\"a\"");
  EXPECT_EQ(Get("/", {{"If-None-Match", "\"b\""}}).status, 200);
}

TEST_F(WebAssetsTest, ABuildWithoutAPageSaysSo) {
  HttpRequest request;
  request.method = "GET";
  request.path = "/";
  const HttpResponse none = ServeAsset({}, request);
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(none.body, HasSubstr("no page"));
}

}  // namespace
}  // namespace flightplan::service
