#include "clients/cli/output.h"

#include "google/protobuf/util/json_util.h"

namespace flightplan::cli {

std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  // Fails only for malformed google.protobuf.Any, of which our messages have none.
  (void)google::protobuf::util::MessageToJsonString(message, &json, options);
  if (json.empty() || json.back() != '\n') json += '\n';
  return json;
}

}  // namespace flightplan::cli
