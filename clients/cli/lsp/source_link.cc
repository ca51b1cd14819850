#include "clients/cli/lsp/source_link.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/lsp/upstream.h"

namespace flightplan::cli {
namespace {

constexpr absl::string_view kHost = "https://github.com/";

bool IsPath(absl::string_view text) {
  for (const char c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && !absl::StrContains("._-/", c)) return false;
  }
  return absl::StrContains(text, "/");
}

absl::string_view LeadingDigits(absl::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[digits]))) ++digits;
  return text.substr(0, digits);
}

// "Megatron-LM 0.17.1": the repository's own name, and the release.
const Upstream* FindUpstream(absl::string_view name) {
  const std::pair<absl::string_view, absl::string_view> halves = absl::StrSplit(name, absl::MaxSplits(' ', 1));
  for (const Upstream& upstream : Upstreams()) {
    if (upstream.version == halves.second && absl::EndsWith(upstream.repository, absl::StrCat("/", halves.first))) {
      return &upstream;
    }
  }
  return nullptr;
}

}  // namespace

std::string SourceLink(absl::string_view citation) {
  const std::vector<absl::string_view> parts = absl::StrSplit(citation, ':');
  if (parts.size() < 3 || parts[0].empty() || !IsPath(parts[1])) return "";
  const absl::string_view line = LeadingDigits(parts[2]);
  const Upstream* const upstream = FindUpstream(parts[0]);
  if (line.empty() || upstream == nullptr) return "";
  return absl::StrCat(kHost, upstream->repository, "/blob/", upstream->revision, "/", parts[1], "#L", line);
}

}  // namespace flightplan::cli
