#include "service/web/connect_metadata.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/utf8.h"

namespace flightplan::service {
namespace {

// Of HTTP itself, of browsers, and `user-agent`, which gRPC sets.
constexpr absl::string_view kNotMetadata[] = {"accept",
                                              "accept-charset",
                                              "accept-encoding",
                                              "accept-language",
                                              "cache-control",
                                              "connection",
                                              "cookie",
                                              "date",
                                              "dnt",
                                              "expect",
                                              "host",
                                              "if-modified-since",
                                              "if-none-match",
                                              "keep-alive",
                                              "origin",
                                              "pragma",
                                              "priority",
                                              "proxy-authorization",
                                              "proxy-connection",
                                              "range",
                                              "referer",
                                              "te",
                                              "trailer",
                                              "transfer-encoding",
                                              "upgrade",
                                              "upgrade-insecure-requests",
                                              "user-agent",
                                              "via"};
constexpr absl::string_view kReserved[] = {"connect-", "content-", "flightplan-", "grpc-", "sec-", "access-control-"};

bool IsMetadata(absl::string_view name) {
  return std::find(std::begin(kNotMetadata), std::end(kNotMetadata), name) == std::end(kNotMetadata) &&
         std::none_of(std::begin(kReserved), std::end(kReserved),
                      [&](absl::string_view prefix) { return absl::StartsWith(name, prefix); });
}

bool IsName(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) || absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
           c == '-' || c == '_' || c == '.';
  });
}

bool IsText(absl::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

absl::Status Wrong(absl::string_view name, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("header ", Utf8Prefix(name, 64), " ", why));
}

absl::Status AddBinary(const std::string& name, absl::string_view value, MetadataList* metadata) {
  // HTTP joins what was sent twice with a comma, which base64 does not have.
  for (const absl::string_view one : absl::StrSplit(value, ',')) {
    std::string bytes;
    if (!FromBase64(absl::StripAsciiWhitespace(one), &bytes)) return Wrong(name, "is no base64");
    metadata->emplace_back(name, std::move(bytes));
  }
  return absl::OkStatus();
}

}  // namespace

bool FromBase64(absl::string_view text, std::string* bytes) {
  while (absl::ConsumeSuffix(&text, "=")) {
  }
  const std::string usual = absl::StrReplaceAll(text, {{"-", "+"}, {"_", "/"}});
  return absl::Base64Unescape(usual, bytes);
}

std::string ToBase64(absl::string_view bytes) {
  std::string text = absl::Base64Escape(bytes);
  while (absl::EndsWith(text, "=")) text.pop_back();
  return text;
}

absl::StatusOr<MetadataList> MetadataOf(const std::vector<HttpHeader>& headers) {
  MetadataList metadata;
  for (const HttpHeader& header : headers) {
    const std::string name = absl::AsciiStrToLower(header.name);
    if (!IsMetadata(name)) continue;
    if (!IsName(name)) return Wrong(name, "has a name that is more than letters, digits, '-', '_' and '.'");
    if (absl::EndsWith(name, "-bin")) {
      if (absl::Status status = AddBinary(name, header.value, &metadata); !status.ok()) return status;
      continue;
    }
    if (!IsText(header.value)) return Wrong(name, "has a value that is more than printable ASCII");
    metadata.emplace_back(name, header.value);
  }
  return metadata;
}

MetadataList ShownMetadata(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  MetadataList shown;
  for (const auto& [key, value] : metadata) {
    const absl::string_view name(key.data(), key.size());
    if (!IsMetadata(name) || !IsName(name)) continue;
    const absl::string_view bytes(value.data(), value.size());
    if (absl::EndsWith(name, "-bin")) {
      shown.emplace_back(std::string(name), ToBase64(bytes));
    } else if (IsText(bytes)) {
      shown.emplace_back(std::string(name), std::string(bytes));
    }
  }
  return shown;
}

}  // namespace flightplan::service
