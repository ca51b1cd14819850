#include "service/web/connect_call.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "service/web/gzip.h"
#include "service/wire/front_metadata.h"

namespace flightplan::service {
namespace {

constexpr size_t kMaxTimeoutDigits = 10;
constexpr char kEncodings[] = "gzip, identity";

absl::string_view HeaderOr(const HttpRequest& request, absl::string_view name) {
  const std::string* const value = request.Header(name);
  return value == nullptr ? absl::string_view() : absl::StripAsciiWhitespace(*value);
}

// "application/json; charset=utf-8" as "application/json".
std::string MediaType(const HttpRequest& request) {
  const absl::string_view whole = HeaderOr(request, "content-type");
  return absl::AsciiStrToLower(absl::StripAsciiWhitespace(whole.substr(0, whole.find(';'))));
}

std::optional<Codec> CodecOf(absl::string_view name) {
  if (name == "proto") return Codec::kProto;
  if (name == "json") return Codec::kJson;
  return std::nullopt;
}

std::optional<Codec> CodecOf(const ConnectMethod& method, const HttpRequest& request) {
  const std::string type = MediaType(request);
  absl::string_view name = type;
  if (!absl::ConsumePrefix(&name, method.unary() ? "application/" : "application/connect+")) return std::nullopt;
  return CodecOf(name);
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string PercentDecoded(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 && HexDigit(text[i + 2]) >= 0;
    if (escape) {
      out.push_back(static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

// Of a parameter that stands there twice the first counts.
std::map<std::string, std::string> QueryOf(absl::string_view query) {
  std::map<std::string, std::string> parameters;
  for (const absl::string_view pair : absl::StrSplit(query, '&', absl::SkipEmpty())) {
    const size_t equals = pair.find('=');
    const absl::string_view value = equals == absl::string_view::npos ? "" : pair.substr(equals + 1);
    parameters.emplace(PercentDecoded(pair.substr(0, equals)), PercentDecoded(value));
  }
  return parameters;
}

absl::StatusOr<bool> IsGzip(absl::string_view encoding) {
  if (encoding.empty() || encoding == "identity") return false;
  if (encoding == "gzip") return true;
  return absl::UnimplementedError(
      absl::StrCat("the message is packed as '", Utf8Clip(encoding, 64), "', and this server unpacks ", kEncodings));
}

absl::StatusOr<std::optional<absl::Duration>> ReadTimeout(const HttpRequest& request) {
  const std::string* const text = request.Header("connect-timeout-ms");
  if (text == nullptr) return std::optional<absl::Duration>();
  int64_t milliseconds = 0;
  const bool digits = std::all_of(text->begin(), text->end(), [](unsigned char c) { return absl::ascii_isdigit(c); });
  if (!digits || text->size() > kMaxTimeoutDigits || !absl::SimpleAtoi(*text, &milliseconds)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Connect-Timeout-Ms is '", Utf8Clip(*text, 32), "', must be 1 to ", kMaxTimeoutDigits, " digits"));
  }
  return std::optional<absl::Duration>(absl::Milliseconds(milliseconds));
}

absl::Status CheckVersion(absl::string_view name, absl::string_view version, absl::string_view right) {
  if (version.empty() || version == right) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is '", Utf8Clip(version, 32), "', must be '", right, "'"));
}

absl::Status ReadQuery(const HttpRequest& request, ConnectCall* call) {
  std::map<std::string, std::string> query = QueryOf(request.query);
  FLIGHTPLAN_RETURN_IF_ERROR(CheckVersion("connect", query["connect"], "v1"));
  if (query.count("message") == 0) return absl::InvalidArgumentError("the query has no parameter message");
  FLIGHTPLAN_ASSIGN_OR_RETURN(call->gzip_request, IsGzip(query["compression"]));
  call->codec = *CodecOf(query["encoding"]);
  call->query_message = std::move(query["message"]);
  if (query["base64"] == "1" && !FromBase64(std::string(call->query_message), &call->query_message)) {
    return absl::InvalidArgumentError("the query's message is no base64");
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<HttpResponse> NoCall(const ConnectMethod& method, const HttpRequest& request) {
  HttpResponse response;
  response.content_type = "";
  const bool get = request.method == "GET" || request.method == "HEAD";
  const bool may_get = method.unary() && !method.side_effects;
  if (request.method != "POST" && !(get && may_get)) {
    response.status = 405;
    response.headers.push_back({"Allow", may_get ? "GET, HEAD, POST" : "POST"});
    return response;
  }
  if (!method.unary() && !request.chunks_understood) {
    response.status = 505;  // the answer has no length that could be said first
    return response;
  }
  if (get ? CodecOf(QueryOf(request.query)["encoding"]).has_value() : CodecOf(method, request).has_value()) {
    return std::nullopt;
  }
  response.status = 415;
  response.headers.push_back({"Accept-Post", method.unary() ? "application/json, application/proto"
                                                            : "application/connect+json, application/connect+proto"});
  return response;
}

absl::StatusOr<ConnectCall> ReadCall(const ConnectMethod& method, const HttpRequest& request) {
  ConnectCall call;
  call.method = &method;
  call.get = request.method != "POST";
  FLIGHTPLAN_RETURN_IF_ERROR(
      CheckVersion("Connect-Protocol-Version", HeaderOr(request, "connect-protocol-version"), "1"));
  FLIGHTPLAN_ASSIGN_OR_RETURN(call.timeout, ReadTimeout(request));
  FLIGHTPLAN_ASSIGN_OR_RETURN(call.metadata, MetadataOf(request.headers));
  const std::string prefix = method.unary() ? "" : "connect-";
  if (call.get) {
    FLIGHTPLAN_RETURN_IF_ERROR(ReadQuery(request, &call));
  } else {
    call.codec = *CodecOf(method, request);
    FLIGHTPLAN_ASSIGN_OR_RETURN(call.gzip_request, IsGzip(HeaderOr(request, absl::StrCat(prefix, "content-encoding"))));
  }
  const std::string* const accepted = request.Header(absl::StrCat(prefix, "accept-encoding"));
  call.gzip_answer = accepted == nullptr ? call.gzip_request : TakesGzip(*accepted);
  return call;
}

std::string ContentType(const ConnectCall& call) {
  return absl::StrCat("application/", call.method->unary() ? "" : "connect+",
                      call.codec == Codec::kJson ? "json" : "proto");
}

void Describe(const ConnectCall& call, const HttpRequest& request, grpc::ClientContext* context) {
  if (call.timeout.has_value()) context->set_deadline(absl::ToChronoTime(absl::Now() + *call.timeout));
  for (const auto& [name, value] : call.metadata) context->AddMetadata(name, value);
  if (!request.peer_certificate.empty()) context->AddMetadata(kFrontCertificate, request.peer_certificate);
}

}  // namespace flightplan::service
