#include "service/web/web_assets.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "service/web/gzip.h"

namespace flightplan::service {
namespace {

constexpr absl::string_view kPage = "/index.html";
// A bundler's names carry a digest of the content ("app-4f2a91c0.js"), so that what is kept is never old.
constexpr absl::string_view kBundled = "/assets/";
constexpr char kKeepForGood[] = "public, max-age=31536000, immutable";
constexpr char kAskEachTime[] = "no-cache";

const WebAsset* Find(absl::Span<const WebAsset> assets, absl::string_view path) {
  const auto found = std::find_if(assets.begin(), assets.end(), [&](const WebAsset& one) { return one.path == path; });
  return found == assets.end() ? nullptr : &*found;
}

// Of the port for health and metrics. A probe that asks the wrong port is told so, and does not take the page for
// health.
constexpr absl::string_view kStatusPaths[] = {"/healthz", "/livez", "/metrics", "/readyz", "/version"};

bool IsStatus(absl::string_view path) {
  return std::find(std::begin(kStatusPaths), std::end(kStatusPaths), path) != std::end(kStatusPaths);
}

bool HasEnding(absl::string_view path) { return absl::StrContains(path.substr(path.rfind('/') + 1), '.'); }

bool Names(const std::string* list, absl::string_view wanted) {
  if (list == nullptr) return false;
  for (absl::string_view one : absl::StrSplit(*list, ',')) {
    one = absl::StripAsciiWhitespace(one.substr(0, one.find(';')));
    absl::ConsumePrefix(&one, "W/");
    if (one == wanted || one == "*") return true;
  }
  return false;
}

HttpResponse NotFound(absl::string_view line) {
  HttpResponse response;
  response.status = 404;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::string(line);
  return response;
}

}  // namespace

HttpResponse ServeAsset(absl::Span<const WebAsset> assets, const HttpRequest& request) {
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse response = NotFound("this is asked by GET\n");
    response.status = 405;
    response.headers.push_back({"Allow", "GET, HEAD"});
    return response;
  }
  if (assets.empty()) {
    return NotFound("this build of flightplan has no page; calls are POST /flightplan.v1.SERVICE/METHOD\n");
  }
  if (IsStatus(request.path)) return NotFound("health and metrics are not here but on http_listen\n");
  const WebAsset* asset = Find(assets, request.path);
  if (asset == nullptr && !HasEnding(request.path)) asset = Find(assets, kPage);
  if (asset == nullptr) return NotFound("nothing is here; the page is at /\n");
  HttpResponse response;
  response.content_type = std::string(asset->type);
  response.headers = {{"ETag", absl::StrCat("W/", asset->etag)},  // the same packed or not
                      {"Vary", "Accept-Encoding"},
                      {"Cache-Control", absl::StartsWith(asset->path, kBundled) ? kKeepForGood : kAskEachTime}};
  if (Names(request.Header("if-none-match"), asset->etag)) {
    response.status = 304;
    response.content_type.clear();
    return response;
  }
  const std::string* const accepted = request.Header("accept-encoding");
  if (accepted != nullptr && TakesGzip(*accepted)) {
    response.headers.push_back({"Content-Encoding", "gzip"});
    response.body = std::string(asset->gzipped);
    return response;
  }
  absl::StatusOr<std::string> plain = Gunzip(asset->gzipped, asset->plain_bytes);
  if (!plain.ok()) return NotFound("this file is not whole\n");
  response.body = *std::move(plain);
  return response;
}

}  // namespace flightplan::service
