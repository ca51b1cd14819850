// A whole request in text format (BatchResolveRequest: validate or resolve), through the resolver. Its answer must be
// OK or say what is wrong with the request; INTERNAL is our bug.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "resolver/catalog/catalog.h"
#include "resolver/resolver.h"
#include "tests/fuzz/feedback.h"

namespace flightplan::fuzz {
namespace {

const Resolver& TheResolver() {
  static const Resolver* const kResolver =
      new Resolver(std::make_shared<const Catalog>(*Catalog::Builtin()));  // NOLINT: lives as long as the process
  return *kResolver;
}

class Silent : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

void Judge(const absl::Status& status) {
  Met(absl::StatusCodeToString(status.code()));
  if (status.code() == absl::StatusCode::kInternal || status.code() == absl::StatusCode::kUnknown) __builtin_trap();
}

template <typename Response>
void MetFindings(const Response& response) {
  for (const v1::Finding& finding : response.findings()) Met(finding.rule_id());
  for (const v1::EffectiveChange& change : response.effective_changes()) Met(change.rule_id());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Silent silent;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silent);
  v1::BatchResolveRequest request;
  if (!parser.ParseFromString(std::string(reinterpret_cast<const char*>(data), size), &request)) return -1;
  if (request.has_resolve()) {
    v1::ResolveConfigResponse response;
    Judge(TheResolver().ResolveConfig(request.resolve(), &response));
    MetFindings(response);
  } else if (request.has_validate()) {
    v1::ValidateConfigResponse response;
    Judge(TheResolver().ValidateConfig(request.validate(), &response));
    MetFindings(response);
  }
  return 0;
}

}  // namespace flightplan::fuzz
