// The server under test of the public conformance suite of the Connect protocol (connectrpc.com/conformance): its
// ConformanceService behind our own HTTP server and ConnectGateway. Says its port on standard output as the suite wants
// it, and serves until it is ended.
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "connectrpc/conformance/v1/server_compat.pb.h"
#include "connectrpc/conformance/v1/service.grpc.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "service/http/http_server.h"
#include "service/web/connect_gateway.h"
#include "service/web/connect_metadata.h"

namespace flightplan::service {
namespace {

namespace c = connectrpc::conformance::v1;
using grpc::ServerContext;

// The query of a GET, which the service wants to see and gRPC has no place for.
constexpr char kQueryHeader[] = "x-conformance-query";

std::string TextOf(const grpc::string_ref& text) { return std::string(text.data(), text.size()); }

// Values of "-bin" names are base64 in the suite's messages.
std::string Shown(const std::string& name, const std::string& value) {
  return absl::EndsWith(name, "-bin") ? ToBase64(value) : value;
}
std::string Meant(const std::string& name, const std::string& value) {
  std::string bytes;
  return absl::EndsWith(name, "-bin") && FromBase64(value, &bytes) ? bytes : value;
}

c::ConformancePayload::RequestInfo Seen(const ServerContext& context) {
  c::ConformancePayload::RequestInfo info;
  for (const auto& [key, value] : context.client_metadata()) {
    const std::string name = TextOf(key);
    if (name == kQueryHeader) {
      c::ConformancePayload::ConnectGetInfo* const get = info.mutable_connect_get_info();
      for (const absl::string_view pair : absl::StrSplit(TextOf(value), '&')) {
        const std::vector<std::string> parts = absl::StrSplit(pair, absl::MaxSplits('=', 1));
        c::Header* const parameter = get->add_query_params();
        parameter->set_name(parts[0]);
        parameter->add_value(parts.size() > 1 ? parts[1] : "");
      }
      continue;
    }
    c::Header* header = nullptr;
    for (c::Header& known : *info.mutable_request_headers()) {
      if (known.name() == name) header = &known;
    }
    if (header == nullptr) {
      header = info.add_request_headers();
      header->set_name(name);
    }
    header->add_value(Shown(name, TextOf(value)));
  }
  if (context.deadline() != std::chrono::system_clock::time_point::max()) {
    info.set_timeout_ms(absl::ToInt64Milliseconds(absl::FromChrono(context.deadline()) - absl::Now()));
  }
  return info;
}

template <class Definition>
void AddMetadata(const Definition& definition, ServerContext* context) {
  for (const c::Header& header : definition.response_headers()) {
    for (const std::string& value : header.value()) {
      context->AddInitialMetadata(header.name(), Meant(header.name(), value));
    }
  }
  for (const c::Header& header : definition.response_trailers()) {
    for (const std::string& value : header.value()) {
      context->AddTrailingMetadata(header.name(), Meant(header.name(), value));
    }
  }
}

// `info`: what was seen, for an error that no payload carries it before.
grpc::Status StatusOf(const c::Error& error, const c::ConformancePayload::RequestInfo* info) {
  google::rpc::Status details;
  details.set_code(static_cast<int>(error.code()));
  details.set_message(error.message());
  for (const google::protobuf::Any& detail : error.details()) *details.add_details() = detail;
  if (info != nullptr) details.add_details()->PackFrom(*info);
  return grpc::Status(static_cast<grpc::StatusCode>(error.code()), error.message(), details.SerializeAsString());
}

void Wait(uint32_t milliseconds) { absl::SleepFor(absl::Milliseconds(milliseconds)); }

grpc::Status AnswerOne(const c::UnaryResponseDefinition& definition, c::ConformancePayload::RequestInfo info,
                       ServerContext* context, c::ConformancePayload* payload) {
  AddMetadata(definition, context);
  Wait(definition.response_delay_ms());
  if (definition.has_error()) return StatusOf(definition.error(), &info);
  payload->set_data(definition.response_data());
  *payload->mutable_request_info() = std::move(info);
  return grpc::Status::OK;
}

template <class Response, class Stream>
grpc::Status AnswerMany(const c::StreamResponseDefinition& definition, const c::ConformancePayload::RequestInfo& info,
                        ServerContext* context, Stream* stream) {
  AddMetadata(definition, context);
  stream->SendInitialMetadata();
  bool first = true;
  for (const std::string& data : definition.response_data()) {
    Wait(definition.response_delay_ms());
    Response response;
    response.mutable_payload()->set_data(data);
    if (first) *response.mutable_payload()->mutable_request_info() = info;
    first = false;
    if (!stream->Write(response)) return grpc::Status(grpc::StatusCode::CANCELLED, "the caller went away");
  }
  return definition.has_error() ? StatusOf(definition.error(), first ? &info : nullptr) : grpc::Status::OK;
}

class Service final : public c::ConformanceService::Service {
 public:
  grpc::Status Unary(ServerContext* context, const c::UnaryRequest* request, c::UnaryResponse* response) override {
    c::ConformancePayload::RequestInfo info = Seen(*context);
    info.add_requests()->PackFrom(*request);
    return AnswerOne(request->response_definition(), std::move(info), context, response->mutable_payload());
  }
  grpc::Status IdempotentUnary(ServerContext* context, const c::IdempotentUnaryRequest* request,
                               c::IdempotentUnaryResponse* response) override {
    c::ConformancePayload::RequestInfo info = Seen(*context);
    info.add_requests()->PackFrom(*request);
    return AnswerOne(request->response_definition(), std::move(info), context, response->mutable_payload());
  }
  grpc::Status ServerStream(ServerContext* context, const c::ServerStreamRequest* request,
                            grpc::ServerWriter<c::ServerStreamResponse>* writer) override {
    c::ConformancePayload::RequestInfo info = Seen(*context);
    info.add_requests()->PackFrom(*request);
    return AnswerMany<c::ServerStreamResponse>(request->response_definition(), info, context, writer);
  }
  grpc::Status ClientStream(ServerContext* context, grpc::ServerReader<c::ClientStreamRequest>* reader,
                            c::ClientStreamResponse* response) override {
    c::ConformancePayload::RequestInfo info = Seen(*context);
    c::ClientStreamRequest request;
    std::optional<c::UnaryResponseDefinition> definition;
    while (reader->Read(&request)) {
      if (!definition.has_value()) definition = request.response_definition();
      info.add_requests()->PackFrom(request);
    }
    return AnswerOne(definition.value_or(c::UnaryResponseDefinition()), std::move(info), context,
                     response->mutable_payload());
  }
  // Half-duplex alone: a request of HTTP/1.1 has come whole before it is answered.
  grpc::Status BidiStream(ServerContext* context,
                          grpc::ServerReaderWriter<c::BidiStreamResponse, c::BidiStreamRequest>* stream) override {
    c::ConformancePayload::RequestInfo info = Seen(*context);
    c::BidiStreamRequest request;
    std::optional<c::StreamResponseDefinition> definition;
    while (stream->Read(&request)) {
      if (!definition.has_value()) definition = request.response_definition();
      info.add_requests()->PackFrom(request);
    }
    return AnswerMany<c::BidiStreamResponse>(definition.value_or(c::StreamResponseDefinition()), info, context, stream);
  }
};

bool ReadMessage(google::protobuf::MessageLite* message) {
  uint8_t head[4];
  if (!std::cin.read(reinterpret_cast<char*>(head), sizeof(head))) return false;
  const uint32_t size = uint32_t{head[0]} << 24 | uint32_t{head[1]} << 16 | uint32_t{head[2]} << 8 | head[3];
  std::string bytes(size, '\0');
  return std::cin.read(bytes.data(), size) && message->ParseFromString(bytes);
}

void WriteMessage(const google::protobuf::MessageLite& message) {
  const std::string bytes = message.SerializeAsString();
  for (int shift = 24; shift >= 0; shift -= 8) std::cout.put(static_cast<char>(bytes.size() >> shift & 0xff));
  std::cout << bytes << std::flush;
}

bool UsePem(const c::ServerCompatRequest& wanted, SSL_CTX* context) {
  const auto file = [](const std::string& pem) { return BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())); };
  BIO* const cert = file(wanted.server_creds().cert());
  BIO* const key = file(wanted.server_creds().key());
  bool good = SSL_CTX_use_certificate(context, PEM_read_bio_X509(cert, nullptr, nullptr, nullptr)) == 1 &&
              SSL_CTX_use_PrivateKey(context, PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr)) == 1;
  BIO_free(cert);
  BIO_free(key);
  if (good && !wanted.client_tls_cert().empty()) {
    BIO* const client = file(wanted.client_tls_cert());
    good =
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context), PEM_read_bio_X509(client, nullptr, nullptr, nullptr)) == 1;
    BIO_free(client);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return good;
}

HttpServer::Options HttpOptions(const c::ServerCompatRequest& wanted, size_t max_message) {
  HttpServer::Options http;
  http.listen = "127.0.0.1:0";
  http.setting = "listen";
  http.max_connections = 1024;
  http.max_body_bytes = size_t{64} << 20;
  http.max_bodies_bytes = size_t{1} << 30;
  http.request_time = http.answer_time = http.keep_alive = absl::Seconds(60);
  http.threads = 4;
  http.max_queued = 1024;
  http.chunked_bodies = true;
  if (max_message > 0) http.max_body_bytes = max_message * 64;  // a stream has several messages
  if (wanted.use_tls()) http.tls = [&wanted](SSL_CTX* context) { return UsePem(wanted, context); };
  return http;
}

int Serve() {
  c::ServerCompatRequest wanted;
  if (!ReadMessage(&wanted)) return 1;
  Service service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(-1);
  const std::unique_ptr<grpc::Server> answering = builder.BuildAndStart();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  ConnectGateway::Options options;
  options.channel = answering->InProcessChannel(arguments);
  options.services = {c::ConformanceService::service_full_name()};
  options.max_message_bytes = wanted.message_receive_limit() > 0 ? wanted.message_receive_limit() : size_t{64} << 20;
  options.max_calls = 1000;
  options.threads = 4;
  ConnectGateway gateway(std::move(options));
  HttpRoute any{"*", "*", nullptr, nullptr};
  any.begin = [&gateway](const std::shared_ptr<const HttpRequest>& request, std::shared_ptr<HttpReply> reply) {
    auto shown = std::make_shared<HttpRequest>(*request);
    if (request->method == "GET") shown->headers.push_back({kQueryHeader, request->query});
    gateway.Take(std::move(shown), std::move(reply));
  };
  const auto http = HttpServer::Start(HttpOptions(wanted, wanted.message_receive_limit()), {std::move(any)});
  if (!http.ok()) return 1;
  c::ServerCompatResponse said;
  said.set_host("127.0.0.1");
  said.set_port(static_cast<uint32_t>((*http)->port()));
  if (wanted.use_tls()) said.set_pem_cert(wanted.server_creds().cert());
  WriteMessage(said);
  while (true) pause();  // until the suite ends this process
}

}  // namespace
}  // namespace flightplan::service

int main() { return flightplan::service::Serve(); }
