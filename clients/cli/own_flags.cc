#include "clients/cli/own_flags.h"

#include <algorithm>
#include <initializer_list>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/flags.h"
#include "resolver/base/byte_order_mark.h"
#include "resolver/plan/stack.h"

namespace flightplan::cli {
namespace {

constexpr size_t kCommentLines = 200;  // among the first of a file

bool IsSaid(const std::string& text) { return !text.empty(); }
template <class T>
bool IsSaid(const std::optional<T>& value) {
  return value.has_value();
}

// `said` goes over `options`.
template <class T>
void Over(const StackOptions& said, StackOptions* options, std::initializer_list<T StackOptions::*> fields) {
  for (T StackOptions::*const field : fields) {
    if (IsSaid(said.*field)) options->*field = said.*field;
  }
}

}  // namespace

std::optional<OwnFlags> FindOwnFlags(absl::string_view text) {
  size_t start = absl::StartsWith(text, kByteOrderMark) ? kByteOrderMark.size() : 0;
  for (size_t line = 0; line < kCommentLines && start < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const absl::string_view words = absl::StripAsciiWhitespace(text.substr(start, end - start));
    if (absl::StartsWith(words, kStackComment)) {
      const size_t begin = static_cast<size_t>(words.data() - text.data());
      return OwnFlags{begin, begin + words.size(),
                      absl::StrSplit(words.substr(kStackComment.size()), absl::ByAnyChar(" \t"), absl::SkipEmpty())};
    }
    start = end + 1;
  }
  return std::nullopt;
}

absl::Status ApplyOwnFlags(const OwnFlags& own, StackOptions* options) {
  const CommandLine command{.name = "validate", .groups = StackFlags(options)};
  return ParseArguments(command, own.words).status();
}

absl::StatusOr<StackOptions> WithOwnFlags(absl::string_view text, const StackOptions& said) {
  const std::optional<OwnFlags> own = FindOwnFlags(text);
  if (!own.has_value()) return said;
  StackOptions options;
  options.target.clear();
  if (const absl::Status status = ApplyOwnFlags(*own, &options); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("its comment ", kStackComment, " ", status.message()));
  }
  using O = StackOptions;
  Over(said, &options, {&O::target, &O::gpu, &O::transport, &O::host_cpu, &O::dispatcher_transport, &O::probe_profile});
  Over(said, &options, {&O::gpus, &O::nvlink_domain, &O::gpus_per_node});
  Over(said, &options, {&O::reserved_memory_gib, &O::host_memory_gib});
  Over(said, &options, {&O::te, &O::torch, &O::cuda, &O::nccl, &O::driver});
  if (!said.capabilities.empty()) options.capabilities = said.capabilities;
  for (const auto field : {&O::packages, &O::env, &O::pins}) {  // of one name the last one holds
    (options.*field).insert((options.*field).end(), (said.*field).begin(), (said.*field).end());
  }
  return options;
}

}  // namespace flightplan::cli
