// How far a finding about a launch can be trusted. A person who validates one script sees what the script lacks and
// judges; a door that refuses a job must not do so for a value that stands elsewhere: in a recipe, in a model's YAML
// file, in a variable of another script, in the container.
#pragma once

#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/reading.h"

namespace flightplan::doors {

// What a launch shows of its configuration.
struct Knowledge {
  Target stack{};
  std::string elsewhere;          // where values stand that are not written here; empty: nowhere, unset is the default
  bool own_parser = false;        // the stack's own entry script: it takes no flags but the stack's
  bool gpu_known = true;          // the question names one
  bool clear = true;              // every word of the launch can be read
  bool size_assumed = false;      // the world size rests on a default of the script
  bool layout_elsewhere = false;  // the parallel sizes may stand there too
  std::set<std::string> hidden;   // knobs that are written with a value that cannot be read
  EnvVars vars;                   // variables that the job is known to have
};

Knowledge KnowledgeOf(Target stack, absl::string_view script, absl::Span<const Argument> args, EnvVars vars);

enum class Trust {
  kFull,    // holds for what will run
  kUnless,  // holds unless the job's surroundings set a variable that is not seen here: a warning, never a refusal
  kNone,    // rests on what is not known here
};
// `written`: knobs that the launch itself writes.
Trust TrustIn(const v1::Finding& finding, const Knowledge& knowledge, const std::set<std::string>& written);

}  // namespace flightplan::doors
