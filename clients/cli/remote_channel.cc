#include "clients/cli/remote_channel.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "clients/cpp/plaintext_token.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "resolver/base/status_macros.h"
#include "service/local/input_file.h"

namespace flightplan::cli {
namespace {

constexpr size_t kMaxPemBytes = size_t{1} << 20;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A variable that names no file counts as empty.
absl::StatusOr<std::string> ContentOf(const char* variable) {
  const std::string path = Variable(variable);
  if (path.empty()) return std::string();
  absl::StatusOr<std::string> text = service::ReadWholeFile(path, kMaxPemBytes);
  if (text.ok()) return text;
  return absl::InvalidArgumentError(absl::StrCat(variable, ": ", text.status().message()));
}

// A token in the clear to another machine, unless FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN is 1.
absl::Status CheckToken(const std::string& address) {
  const bool plaintext = Variable("FLIGHTPLAN_CA_FILE").empty();
  if (Variable("FLIGHTPLAN_TOKEN").empty() || !plaintext || MayCarryPlaintextToken(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--server: ", PlaintextTokenRefusal(address), " (TLS: FLIGHTPLAN_CA_FILE)"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address) {
  FLIGHTPLAN_RETURN_IF_ERROR(CheckToken(address));
  if (Variable("FLIGHTPLAN_CA_FILE").empty()) return grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  grpc::SslCredentialsOptions options;
  FLIGHTPLAN_ASSIGN_OR_RETURN(options.pem_root_certs, ContentOf("FLIGHTPLAN_CA_FILE"));
  FLIGHTPLAN_ASSIGN_OR_RETURN(options.pem_cert_chain, ContentOf("FLIGHTPLAN_CERT_FILE"));
  FLIGHTPLAN_ASSIGN_OR_RETURN(options.pem_private_key, ContentOf("FLIGHTPLAN_KEY_FILE"));
  return grpc::CreateChannel(address, grpc::SslCredentials(options));
}

void AddToken(grpc::ClientContext* context) {
  if (const std::string token = Variable("FLIGHTPLAN_TOKEN"); !token.empty()) {
    context->AddMetadata("authorization", "Bearer " + token);
  }
}

}  // namespace flightplan::cli
