// One input format (resolver/stacks/input_format.h), named by the build: reads the input, writes what was read, and
// reads that again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "resolver/catalog/defaults.h"
#include "resolver/stacks/dialects.h"
#include "resolver/stacks/input_format.h"
#include "tests/fuzz/feedback.h"

namespace flightplan::fuzz {
namespace {

const NamedFormat& Named() {
  static const NamedFormat kNamed = [] {
    for (const NamedFormat& named : InputFormats()) {
      const bool own = OwnDialect(named.target) == FLIGHTPLAN_FUZZ_DIALECT;
      if (named.format->name == FLIGHTPLAN_FUZZ_FORMAT && own) return named;
    }
    __builtin_trap();  // the build names a format that is none
  }();
  return kNamed;
}

const InputFormat& Format() { return *Named().format; }

ParseResult Read(absl::string_view text, const Environment& env) {
  if (Format().file != nullptr) return Format().file(text, env);
  const std::vector<Argument> args = ArgumentsOfLines(text);
  Met(RecogniseArguments(args, "", env.target).name);
  return Format().arguments(args, env);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  Environment env;
  env.target = Named().target;
  env.vars["HOME"] = "/root";
  Met(RecogniseFile("", text, env.target));
  const ParseResult parsed = Read(text, env);
  Met(parsed);
  Config config = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  ApplyKnobs(parsed.knobs, &config);
  const Launch launch = RenderDialect(OwnDialect(env.target), {config, env, env.vars});
  std::string lines;
  for (const std::string& word : launch.argv) lines += word + "\n";
  RecogniseArguments(ArgumentsOfLines(lines), "", env.target).arguments(ArgumentsOfLines(lines), env);
  return 0;
}

}  // namespace flightplan::fuzz
