// Answers between bytes and messages.
#pragma once

#include "absl/status/status.h"
#include "google/protobuf/message_lite.h"
#include "resolver/plan/config_answer.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class ResolveConfigResponse;
class ValidateConfigResponse;
}  // namespace v1

ConfigAnswer AnswerOf(const v1::ResolveConfigResponse& response);
ConfigAnswer AnswerOf(const v1::ValidateConfigResponse& response);

// INTERNAL where the bytes are not such a message: text in them that is no UTF-8.
absl::Status ReadAnswer(const ConfigAnswer& answer, google::protobuf::MessageLite* response);

}  // namespace flightplan
