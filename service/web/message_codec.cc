#include "service/web/message_codec.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/type_resolver_util.h"
#include "google/rpc/error_details.pb.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/violations.h"

namespace flightplan::service {
namespace {

namespace util = google::protobuf::util;

constexpr char kUrlPrefix[] = "type.googleapis.com";
constexpr size_t kMaxShownBytes = 512;

std::string UrlOf(const google::protobuf::Descriptor& type) { return absl::StrCat(kUrlPrefix, "/", type.full_name()); }

// protobuf says "(model) nam: Cannot find field.", "nam: Cannot find field." or "(hardware.gpu_count): invalid value
// ...".
google::rpc::BadRequest::FieldViolation ViolationOf(absl::string_view why) {
  google::rpc::BadRequest::FieldViolation violation;
  absl::string_view rest = why;
  absl::ConsumePrefix(&rest, "INVALID_ARGUMENT:");
  std::string field;
  if (absl::ConsumePrefix(&rest, "(")) {
    const size_t end = rest.find(')');
    if (end != absl::string_view::npos) {
      field = std::string(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    absl::ConsumePrefix(&rest, ":");
    absl::ConsumePrefix(&rest, " ");
  }
  const size_t colon = rest.find(": Cannot find field");
  if (colon != absl::string_view::npos) {
    absl::string_view name = rest.substr(0, colon);
    absl::ConsumePrefix(&name, "invalid name ");
    absl::StrAppend(&field, field.empty() ? "" : ".", name);
    rest = "no field is called so";
  }
  violation.set_field(Utf8Clip(field, kMaxShownBytes));
  violation.set_description(Utf8Clip(rest, kMaxShownBytes));
  return violation;
}

absl::Status NoMessage(const google::protobuf::Descriptor& type, absl::string_view why) {
  google::rpc::BadRequest details;
  const google::rpc::BadRequest::FieldViolation violation = ViolationOf(why);
  *details.add_field_violations() = violation;
  absl::Status status =
      absl::InvalidArgumentError(absl::StrCat("the JSON is no ", type.full_name(), ": ", violation.field(),
                                              violation.field().empty() ? "" : ": ", violation.description()));
  status.SetPayload(kBadRequestPayload, absl::Cord(details.SerializeAsString()));
  return status;
}

}  // namespace

MessageCodec::MessageCodec(const google::protobuf::DescriptorPool* pool)
    : types_(util::NewTypeResolverForDescriptorPool(kUrlPrefix, pool)) {}

absl::StatusOr<std::string> MessageCodec::FromJson(const google::protobuf::Descriptor& type,
                                                   absl::string_view json) const {
  if (const size_t good = Utf8PrefixBytes(json); good < json.size()) {
    return NoMessage(type, absl::StrCat("byte ", good, " is no UTF-8"));
  }
  std::string bytes;
  google::protobuf::io::ArrayInputStream in(json.data(), static_cast<int>(json.size()));
  google::protobuf::io::StringOutputStream out(&bytes);
  const util::Status status = util::JsonToBinaryStream(types_.get(), UrlOf(type), &in, &out, util::JsonParseOptions());
  if (!status.ok()) return NoMessage(type, status.ToString());
  return bytes;
}

absl::StatusOr<std::string> MessageCodec::ToJson(const google::protobuf::Descriptor& type,
                                                 absl::string_view bytes) const {
  std::string json;
  google::protobuf::io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::StringOutputStream out(&json);
  const util::Status status = util::BinaryToJsonStream(types_.get(), UrlOf(type), &in, &out, util::JsonPrintOptions());
  if (!status.ok()) return absl::InternalError(absl::StrCat("an answer that is no JSON: ", status.ToString()));
  return json;
}

}  // namespace flightplan::service
