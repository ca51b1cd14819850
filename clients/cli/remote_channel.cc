#include "clients/cli/remote_channel.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/backend.h"
#include "clients/cpp/plaintext_token.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "resolver/base/status_macros.h"
#include "service/local/input_file.h"

namespace flightplan::cli {
namespace {

constexpr size_t kMaxPemBytes = size_t{1} << 20;
constexpr uint64_t kMaxPort = 65535;

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

// Without the line break that a secret's file ends with, and that comes along where it is made a variable.
std::string Token() { return std::string(absl::StripTrailingAsciiWhitespace(Variable("FLIGHTPLAN_TOKEN"))); }

// What no header carries gRPC aborts at, and prints. Nor is the token shown here.
absl::Status CheckTokenText() {
  const std::string token = Token();
  const auto printable = [](unsigned char c) { return absl::ascii_isgraph(c); };
  if (std::all_of(token.begin(), token.end(), printable)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "FLIGHTPLAN_TOKEN holds a space, a line break or a byte that is no ASCII; must be the token alone, in visible "
      "ASCII");
}

// A token in the clear to another machine, unless FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN is 1.
absl::Status CheckToken(const std::string& address) {
  const bool plaintext = Variable("FLIGHTPLAN_CA_FILE").empty();
  if (Token().empty() || !plaintext || MayCarryPlaintextToken(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--server: ", PlaintextTokenRefusal(address), " (TLS: FLIGHTPLAN_CA_FILE)"));
}

// gRPC takes a port in 16 bits: of 99999 it would ask whoever listens on 34463.
absl::Status CheckAddress(const std::string& address) {
  if (absl::StartsWith(address, "unix")) return absl::OkStatus();
  for (const absl::string_view part : absl::StrSplit(address, ',')) {  // "ipv4:1.2.3.4:5,1.2.3.5:5" are several
    const absl::string_view port = part.substr(part.rfind(':') + 1);
    uint64_t number = 0;
    const bool digits = !port.empty() && port.find_first_not_of("0123456789") == absl::string_view::npos;
    if (port.size() == part.size() || !digits || (absl::SimpleAtoi(port, &number) && number <= kMaxPort)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--server ", address, ": a port is a number from 1 to ", kMaxPort, ", not ", port.substr(0, 24)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address) {
  FLIGHTPLAN_RETURN_IF_ERROR(CheckAddress(address));
  FLIGHTPLAN_RETURN_IF_ERROR(CheckTokenText());
  FLIGHTPLAN_RETURN_IF_ERROR(CheckToken(address));
  const bool plaintext = Variable("FLIGHTPLAN_CA_FILE").empty();
  grpc::ChannelArguments arguments;
  if (plaintext || IsLocalAddress(address)) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (plaintext) {
    for (const char* own : {"FLIGHTPLAN_CERT_FILE", "FLIGHTPLAN_KEY_FILE"}) {
      if (Variable(own).empty()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(own, " needs FLIGHTPLAN_CA_FILE: without it the server is asked in plain text"));
    }
    return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  }
  grpc::SslCredentialsOptions options;
  FLIGHTPLAN_ASSIGN_OR_RETURN(options.pem_root_certs, ContentOf("FLIGHTPLAN_CA_FILE"));
  FLIGHTPLAN_ASSIGN_OR_RETURN(options.pem_cert_chain, ContentOf("FLIGHTPLAN_CERT_FILE"));
  FLIGHTPLAN_ASSIGN_OR_RETURN(options.pem_private_key, ContentOf("FLIGHTPLAN_KEY_FILE"));
  return grpc::CreateCustomChannel(address, grpc::SslCredentials(options), arguments);
}

absl::Status NoAnswer(const std::string& address, const std::string& why) {
  // What a server that speaks TLS does with plain text.
  const bool hung_up = absl::StrContains(why, "Socket closed") && Variable("FLIGHTPLAN_CA_FILE").empty();
  return absl::UnavailableError(absl::StrCat("no answer from ", address, ": ", why,
                                             hung_up ? " (does the server speak TLS? FLIGHTPLAN_CA_FILE)" : ""));
}

absl::Status NoAnswerInTime(const std::string& address) {
  return absl::DeadlineExceededError(
      absl::StrCat("no answer from ", address, " within ", kServerDeadlineSeconds, " s"));
}

absl::Status AwaitConnection(grpc::Channel* channel, const std::string& address,
                             std::chrono::system_clock::time_point deadline) {
  for (;;) {
    const grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
    // Of a server that cannot be reached the call itself says why, and at once.
    if (state != GRPC_CHANNEL_IDLE && state != GRPC_CHANNEL_CONNECTING) return absl::OkStatus();
    if (channel->WaitForStateChange(state, deadline)) continue;
    return NoAnswerInTime(address);
  }
}

void AddToken(grpc::ClientContext* context) {
  if (const std::string token = Token(); !token.empty()) {
    context->AddMetadata("authorization", "Bearer " + token);
  }
}

}  // namespace flightplan::cli
