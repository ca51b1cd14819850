#include "service/web/connect_error.h"

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/util/json_util.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "service/observe/json_line.h"
#include "service/web/connect_code.h"

namespace flightplan::service {
namespace {

// For people who read the answer as it is; nothing for a type that is not known here.
std::string DebugJson(const google::protobuf::Any& detail) {
  const google::protobuf::DescriptorPool* const pool = google::protobuf::DescriptorPool::generated_pool();
  const std::string name = detail.type_url().substr(detail.type_url().rfind('/') + 1);
  const google::protobuf::Descriptor* const type = pool->FindMessageTypeByName(name);
  if (type == nullptr) return "";
  const std::unique_ptr<google::protobuf::Message> message(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
  std::string json;
  if (!message->ParseFromString(detail.value()) || !google::protobuf::util::MessageToJsonString(*message, &json).ok()) {
    return "";
  }
  return json;
}

std::string DetailJson(const google::protobuf::Any& detail) {
  const std::string name = detail.type_url().substr(detail.type_url().rfind('/') + 1);
  std::string json = absl::StrCat("{\"type\":", QuotedJson(name), ",\"value\":\"", ToBase64(detail.value()), "\"");
  const std::string debug = DebugJson(detail);
  if (!debug.empty()) absl::StrAppend(&json, ",\"debug\":", debug);
  return absl::StrCat(json, "}");
}

}  // namespace

std::string ErrorJson(const grpc::Status& status) {
  std::string json = absl::StrCat("{\"code\":\"", ConnectCodeOf(status.error_code()).name, "\"");
  if (!status.error_message().empty()) absl::StrAppend(&json, ",\"message\":", QuotedJson(status.error_message()));
  google::rpc::Status all;
  if (all.ParseFromString(status.error_details()) && all.details_size() > 0) {
    std::vector<std::string> details;
    for (const google::protobuf::Any& detail : all.details()) details.push_back(DetailJson(detail));
    absl::StrAppend(&json, ",\"details\":[", absl::StrJoin(details, ","), "]");
  }
  return absl::StrCat(json, "}");
}

std::string EndOfStreamJson(const grpc::Status& status, const MetadataList& trailers) {
  std::vector<std::string> members;
  if (!status.ok()) members.push_back(absl::StrCat("\"error\":", ErrorJson(status)));
  std::map<std::string, std::vector<std::string>> by_name;
  for (const auto& [name, value] : trailers) by_name[name].push_back(QuotedJson(value));
  if (!by_name.empty()) {
    std::vector<std::string> lists;
    lists.reserve(by_name.size());
    for (const auto& [name, values] : by_name) {
      lists.push_back(absl::StrCat(QuotedJson(name), ":[", absl::StrJoin(values, ","), "]"));
    }
    members.push_back(absl::StrCat("\"metadata\":{", absl::StrJoin(lists, ","), "}"));
  }
  return absl::StrCat("{", absl::StrJoin(members, ","), "}");
}

}  // namespace flightplan::service
