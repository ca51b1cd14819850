#include "clients/cli/output.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/type_resolver_util.h"
#include "resolver/normalize/canonical_bytes.h"

namespace flightplan::cli {
namespace {

constexpr char kTypePrefix[] = "type.googleapis.com";

}  // namespace

std::string ToJson(const google::protobuf::Message& message, Zeros zeros) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = zeros == Zeros::kWritten;
  const std::unique_ptr<google::protobuf::util::TypeResolver> types(
      google::protobuf::util::NewTypeResolverForDescriptorPool(kTypePrefix, message.GetDescriptor()->file()->pool()));
  std::string json;
  // Fails only for a malformed google.protobuf.Any, of which our messages have none.
  (void)google::protobuf::util::BinaryToJsonString(types.get(),
                                                   absl::StrCat(kTypePrefix, "/", message.GetDescriptor()->full_name()),
                                                   CanonicalBytes(message), &json, options);
  if (json.empty() || json.back() != '\n') json += '\n';
  return json;
}

}  // namespace flightplan::cli
