#include "resolver/stacks/verl/words.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "resolver/base/path.h"
#include "resolver/read/hydra_value.h"

namespace flightplan {
namespace {

constexpr absl::string_view kConfigName = "--config-name";

// "./config/ppo_megatron_trainer.yaml" is asked for as "ppo_megatron_trainer".
std::string ConfigNamed(absl::string_view text) {
  absl::ConsumeSuffix(&text, ".yaml");
  return std::string(FileName(text));
}

}  // namespace

VerlWords::VerlWords(absl::Span<const Argument> args) {
  for (size_t i = 0; i < args.size(); ++i) {
    absl::string_view word = args[i].text;
    if (absl::ConsumePrefix(&word, kConfigName)) {
      if (absl::ConsumePrefix(&word, "=")) {
        config_ = ConfigNamed(word);
      } else if (word.empty() && i + 1 < args.size()) {
        config_ = ConfigNamed(args[++i].text);
      }
      continue;
    }
    if (absl::StartsWith(word, "-")) continue;
    const size_t equals = word.find('=');
    if (equals == absl::string_view::npos) {
      if (i == 0 && !args[i].unknown) module_ = std::string(word);
      clear_ = clear_ && !args[i].unknown;
      continue;
    }
    VerlOverride written;
    absl::string_view path = word.substr(0, equals);
    while (absl::ConsumePrefix(&path, "+")) ++written.plus;
    written.path = std::string(path);
    written.text = std::string(word.substr(equals + 1));
    written.at = args[i].at;
    written.unknown = args[i].unknown || absl::StrContains(written.text, "${");
    all_.push_back(std::move(written));
  }
}

const VerlOverride* VerlWords::Find(absl::string_view path) const {
  const auto found =
      std::find_if(all_.rbegin(), all_.rend(), [path](const VerlOverride& written) { return written.path == path; });
  return found == all_.rend() ? nullptr : &*found;
}

std::optional<Value> VerlWords::Get(absl::string_view path, Value usual) const {
  const VerlOverride* written = Find(path);
  if (written == nullptr) return usual;
  if (written->unknown) return std::nullopt;
  absl::StatusOr<Value> value = ReadHydraValue(written->text);
  if (!value.ok()) return std::nullopt;
  return *std::move(value);
}

std::optional<int64_t> VerlWords::Number(absl::string_view path, int64_t usual) const {
  const std::optional<Value> value = Get(path, Value(usual));
  return value.has_value() && value->is_int() ? std::optional<int64_t>(value->integer()) : std::nullopt;
}

std::optional<bool> VerlWords::Bool(absl::string_view path, bool usual) const {
  const std::optional<Value> value = Get(path, Value(usual));
  return value.has_value() && value->is_bool() ? std::optional<bool>(value->truthy()) : std::nullopt;
}

}  // namespace flightplan
