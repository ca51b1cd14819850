#include "resolver/normalize/environment_message.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "flightplan/v1/hardware.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/request_bounds.h"
#include "resolver/plan/stack.h"
#include "resolver/plan/version.h"

namespace flightplan {
namespace {

// "0.19", "v0.19.0", "core_v0.19.0", "core-0.19" -> 19; "main", "" -> kMain; -1: does not read.
int ReadRelease(absl::string_view text) {
  if (text.empty() || text == "main" || text == "latest") return kMain;
  for (absl::string_view prefix : {"core_", "core-", "bridge-", "v"}) absl::ConsumePrefix(&text, prefix);
  const std::optional<Version> version = Version::Parse(text);
  if (!version.has_value() || version->parts[0] > 0) return version.has_value() ? kMain - 1 : -1;
  return std::min(version->parts[1], kMain - 1);
}

std::optional<Version> ReadVersion(bool present, const std::string& text, absl::string_view name,
                                   Violations* violations) {
  if (!present) return std::nullopt;
  std::optional<Version> version = text.size() <= kMaxNameBytes ? Version::Parse(text) : std::nullopt;
  if (!version.has_value()) {
    violations->Add(absl::StrCat("software.", name),
                    absl::StrCat("'", Utf8Prefix(text, kMaxNameBytes), "' is not a version such as 2.12.0"));
  }
  return version;
}

// Names and versions: texts that rules compare.
void ReadPackages(const v1::SoftwareStack& m, Environment* env, Violations* violations) {
  (void)ReadVersion(m.has_driver_version(), m.driver_version(), "driver_version", violations);
  (void)ReadVersion(m.has_cudnn_version(), m.cudnn_version(), "cudnn_version", violations);
  if (m.has_driver_version()) env->packages["driver"] = m.driver_version();
  if (m.has_cudnn_version()) env->packages["cudnn"] = m.cudnn_version();
  if (m.packages_size() > kMaxEnvVars) return violations->Add("software.packages", "has more than 1024 entries");
  size_t bytes = 0;
  for (const auto& [name, version] : m.packages()) {
    bytes += name.size() + version.size();
    if (name.size() > kMaxNameBytes) {
      violations->Add("software.packages", absl::StrCat("'", Utf8Prefix(name, kMaxNameBytes), "...' is a name of ",
                                                        name.size(), " bytes, at most ", kMaxNameBytes));
    }
    CheckLength(absl::StrCat("software.packages[", Utf8Prefix(name, kMaxNameBytes), "]"), version.size(),
                kMaxVersionBytes, violations);
    env->packages[name] = version;
  }
  if (bytes > kMaxEnvBytes) violations->Add("software.packages", "is longer than 256 KiB together");
}

}  // namespace

void ReadTarget(const v1::TargetStack& message, absl::string_view field, Environment* env, Violations* violations) {
  const Stack* const stack = FindStack(message.framework());
  if (stack == nullptr) {
    violations->Add(absl::StrCat(field, ".framework"),
                    message.framework().empty() ? absl::StrCat("is required: ", StackNames())
                                                : absl::StrCat("'", Utf8Prefix(message.framework(), kMaxNameBytes),
                                                               "' is not known; use ", StackNames()));
    return;
  }
  env->target = stack->target;
  const int wanted = message.version().size() <= kMaxNameBytes ? ReadRelease(message.version()) : -1;
  if (wanted < 0) {
    violations->Add(absl::StrCat(field, ".version"), "is not a release such as 0.19, nor main");
    return;
  }
  const int nearest = NearestRelease(*stack, wanted);
  if (nearest != wanted) env->unknown_version = message.version();
  env->*stack->release = nearest;
  env->core_release = stack->core_release(nearest);
}

// Of a dispatcher backend's build.
constexpr absl::string_view kTransports[] = {"nvlink", "ibgda", "ibrc", "efa"};

void ReadSoftware(const v1::SoftwareStack& m, Environment* env, Violations* violations) {
  env->te = ReadVersion(m.has_te_version(), m.te_version(), "te_version", violations);
  env->torch = ReadVersion(m.has_torch_version(), m.torch_version(), "torch_version", violations);
  env->te_stated = m.has_te_version();
  env->torch_stated = m.has_torch_version();
  env->cuda = ReadVersion(m.has_cuda_version(), m.cuda_version(), "cuda_version", violations);
  env->nccl = ReadVersion(m.has_nccl_version(), m.nccl_version(), "nccl_version", violations);
  ReadPackages(m, env, violations);
  if (m.has_paged_stash() && m.paged_stash()) env->capabilities.insert("paged_stash");
  if (!m.has_dispatchers()) return;
  // A transport alone says nothing of what is installed.
  env->capabilities_known = m.dispatchers().backends_size() > 0 || !m.dispatchers().has_transport();
  CheckCount("software.dispatchers.backends", m.dispatchers().backends_size(), kMaxChoices, violations);
  for (const std::string& backend : m.dispatchers().backends()) {
    if (backend != "deepep" && backend != "hybridep" && backend != "ncclep") {
      violations->Add("software.dispatchers.backends", absl::StrCat("'", Utf8Prefix(backend, kMaxNameBytes),
                                                                    "' is not known; use deepep, hybridep or ncclep"));
    }
    env->capabilities.insert(backend);
  }
  if (!m.dispatchers().has_transport()) return;
  const std::string& transport = m.dispatchers().transport();
  if (std::find(std::begin(kTransports), std::end(kTransports), transport) == std::end(kTransports)) {
    violations->Add("software.dispatchers.transport", absl::StrCat("'", Utf8Prefix(transport, kMaxNameBytes),
                                                                   "' is not known; use nvlink, ibgda, ibrc or efa"));
  }
  env->capabilities.insert(absl::StrCat("transport=", transport));
}

void ReadVariables(const google::protobuf::Map<std::string, std::string>& variables, Environment* env,
                   Violations* violations) {
  if (variables.size() > kMaxEnvVars) return violations->Add("env", "has more than 1024 entries");
  size_t bytes = 0;
  const auto refuse_length = [&](const std::string& name) {
    violations->Add(absl::StrCat("env[", Utf8Prefix(name, 128), "]"), "is longer than 64 KiB");
  };
  for (const auto& [name, value] : variables) bytes += name.size() + value.size();
  if (bytes > kMaxEnvBytes) {
    for (const auto& [name, value] : variables) {
      if (value.size() > kMaxValueBytes) refuse_length(name);
    }
    return violations->Add("env", "is longer than 256 KiB together");
  }
  for (const auto& [name, value] : variables) {
    bool ok =
        !name.empty() && name.size() <= kMaxNameBytes && !absl::ascii_isdigit(static_cast<unsigned char>(name[0]));
    for (char c : name) ok = ok && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_');
    if (!ok)
      violations->Add("env", absl::StrCat("'", Utf8Prefix(name, kMaxNameBytes), "' is no environment variable name"));
    if (value.size() > kMaxValueBytes) refuse_length(name);
    env->vars[name] = value;
  }
}

void ReadModelFiles(const google::protobuf::RepeatedPtrField<v1::TextFile>& files, Environment* env,
                    Violations* violations) {
  constexpr int kMost = 64;
  constexpr size_t kMostBytes = size_t{1} << 20;
  if (files.size() > kMost) return violations->Add("model_files", absl::StrCat("holds more than ", kMost, " files"));
  size_t bytes = 0;
  for (int i = 0; i < files.size(); ++i) {
    const v1::TextFile& file = files[i];
    bytes += file.name().size() + file.text().size();
    if (bytes > kMostBytes) return violations->Add("model_files", "is longer than 1 MiB together");
    const std::string field = absl::StrCat("model_files[", i, "].name");
    CheckLength(field, file.name().size(), kMaxPathBytes, violations);
    if (file.name().empty()) {
      violations->Add(field, "is required: the path that the launch or another file writes");
    } else if (!env->model_files.emplace(file.name(), file.text()).second) {
      violations->Add(field, "names a file twice");
    }
  }
}

}  // namespace flightplan
