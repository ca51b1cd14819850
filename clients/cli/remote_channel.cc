#include "clients/cli/remote_channel.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "clients/cpp/plaintext_token.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"

namespace flightplan::cli {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string ContentOf(const char* variable) {
  std::ifstream file(Variable(variable), std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

}  // namespace

absl::Status CheckToken(const std::string& address) {
  const bool plaintext = Variable("FLIGHTPLAN_CA_FILE").empty();
  if (Variable("FLIGHTPLAN_TOKEN").empty() || !plaintext || MayCarryPlaintextToken(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--server: ", PlaintextTokenRefusal(address), " (TLS: FLIGHTPLAN_CA_FILE)"));
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address) {
  if (Variable("FLIGHTPLAN_CA_FILE").empty()) return grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = ContentOf("FLIGHTPLAN_CA_FILE");
  options.pem_cert_chain = ContentOf("FLIGHTPLAN_CERT_FILE");
  options.pem_private_key = ContentOf("FLIGHTPLAN_KEY_FILE");
  return grpc::CreateChannel(address, grpc::SslCredentials(options));
}

void AddToken(grpc::ClientContext* context) {
  if (const std::string token = Variable("FLIGHTPLAN_TOKEN"); !token.empty()) {
    context->AddMetadata("authorization", "Bearer " + token);
  }
}

}  // namespace flightplan::cli
