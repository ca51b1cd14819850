// The stack, the libraries and the variables that a run has, and the files that its launch reads.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/map.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/environment.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class SoftwareStack;
class TargetStack;
class TextFile;
}  // namespace v1

// "megatron-lm" and its release; an unknown release becomes the nearest known one and is kept in env.unknown_version,
// for a finding.
void ReadTarget(const v1::TargetStack& message, absl::string_view field, Environment* env, Violations* violations);

void ReadSoftware(const v1::SoftwareStack& message, Environment* env, Violations* violations);

// Names as POSIX has them; values are never executed or expanded, only compared and printed quoted.
void ReadVariables(const google::protobuf::Map<std::string, std::string>& variables, Environment* env,
                   Violations* violations);

void ReadModelFiles(const google::protobuf::RepeatedPtrField<v1::TextFile>& files, Environment* env,
                    Violations* violations);

}  // namespace flightplan
