#include "service/replay_record.h"

#include <openssl/sha.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "service/log.h"

namespace flightplan::service {
namespace {

// Variables whose values are switches and sizes, never secrets.
constexpr absl::string_view kTuningPrefixes[] = {
    "CUDA_",       "CUBLAS_",    "CUDNN_",  "NCCL_",      "NVTE_",        "NVSHMEM_",    "NVLINK_",   "TORCH_",
    "PYTORCH_",    "TRITON_",    "OMP_",    "MKL_",       "UCX_",         "UB_",         "GLOO_",     "FI_",
    "MASTER_PORT", "WORLD_SIZE", "RANK",    "LOCAL_RANK", "NODE_RANK",    "HYBRID_EP_",  "HYBRIDEP_", "DEEPEP_",
    "DEEP_EP_",    "USE_MNNVL",  "NUM_OF_", "ENABLE_",    "SLURM_NNODES", "SLURM_NTASKS"};
constexpr absl::string_view kSecretWords[] = {"KEY",    "TOKEN",      "SECRET",     "PASSWORD",
                                              "PASSWD", "CREDENTIAL", "CREDENTIALS"};

bool IsNameCharacter(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; }

bool NamesASecret(absl::string_view name) {
  const std::string upper = absl::AsciiStrToUpper(name);
  return std::any_of(std::begin(kSecretWords), std::end(kSecretWords),
                     [&](absl::string_view word) { return absl::EndsWith(upper, word); });
}

bool IsTuning(absl::string_view name) {
  return std::any_of(std::begin(kTuningPrefixes), std::end(kTuningPrefixes),
                     [&](absl::string_view prefix) { return absl::StartsWith(name, prefix); });
}

// The first NAME=, NAME: or "--name value" in a text whose name speaks of a secret.
absl::string_view SecretIn(absl::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (!IsNameCharacter(text[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && IsNameCharacter(text[end])) ++end;
    const absl::string_view name = text.substr(at, end - at);
    size_t next = end;
    while (next < text.size() && (text[next] == '"' || text[next] == '\'' || text[next] == ' ')) ++next;
    const bool set = next < text.size() && (text[next] == '=' || text[next] == ':');
    const bool flag = absl::StartsWith(name, "--");
    if ((set || flag) && NamesASecret(name)) return name;
    at = end;
  }
  return {};
}

template <class Map>
std::string NotForLogsIn(const Map& env) {
  std::string first;  // of several, always the same one
  for (const auto& [name, value] : env) {
    if ((NamesASecret(name) || !IsTuning(name)) && (first.empty() || name < first)) first = name;
  }
  return first.empty() ? first : absl::StrCat("env.", first);
}

std::string NotForLogs(const v1::ValidateConfigRequest& request) {
  if (std::string name = NotForLogsIn(request.env()); !name.empty()) return name;
  for (const std::string& argument : request.arguments().values()) {
    if (const absl::string_view name = SecretIn(argument); !name.empty()) return std::string(name);
  }
  return std::string(SecretIn(request.file().text()));
}

}  // namespace

std::string NotForLogs(const google::protobuf::Message& request) {
  if (const auto* resolve = google::protobuf::DynamicCastToGenerated<v1::ResolveConfigRequest>(&request)) {
    return NotForLogsIn(resolve->env());
  }
  if (const auto* validate = google::protobuf::DynamicCastToGenerated<v1::ValidateConfigRequest>(&request)) {
    return NotForLogs(*validate);
  }
  return "requests of this type";
}

std::string FastSha256Hex(absl::string_view bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
}

std::string ReplayFields(const google::protobuf::Message& request, absl::string_view canonical,
                         absl::string_view answer) {
  std::string json =
      absl::StrCat(",\"answer_sha256\":\"", FastSha256Hex(answer), "\",\"answer_bytes\":", answer.size());
  if (const std::string name = NotForLogs(request); name.empty()) {
    absl::StrAppend(&json, ",\"request\":\"", absl::Base64Escape(canonical), "\"");
  } else {
    absl::StrAppend(&json, ",\"request_withheld\":");
    AppendJsonString(name, &json);
  }
  return json;
}

}  // namespace flightplan::service
