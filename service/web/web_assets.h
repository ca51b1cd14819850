// The files of the page, built into the program (embed_assets.py), and how they are served.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "service/http/http_message.h"

namespace flightplan::service {

struct WebAsset {
  absl::string_view path;     // "/index.html"
  absl::string_view type;     // "text/html; charset=utf-8"
  absl::string_view etag;     // by content, with its quotes
  absl::string_view gzipped;  // the content
  size_t plain_bytes;         // unpacked
};

// Sorted by path; empty: this build has no page.
absl::Span<const WebAsset> BuiltInAssets();

// GET or HEAD of one of them: "/" and every path without a file's ending are the page itself, which reads the rest of
// the path; but for those of health and metrics (/healthz ...), which another port answers. 304 for one that the
// browser has, 404 with a line otherwise.
HttpResponse ServeAsset(absl::Span<const WebAsset> assets, const HttpRequest& request);

}  // namespace flightplan::service
