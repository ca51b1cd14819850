#include "clients/cli/commands/evidence.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/measurements.h"
#include "clients/cli/name_lists.h"
#include "clients/cli/paging.h"
#include "clients/cli/remote_channel.h"
#include "clients/cli/text.h"
#include "flightplan/v1/evidence_service.grpc.pb.h"
#include "google/protobuf/util/json_util.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/resolver.h"
#include "service/evidence/evidence_location.h"
#include "service/evidence/evidence_names.h"
#include "service/handlers/report_measurement.h"
#include "service/local/catalog_folder.h"
#include "service/local/input_file.h"

namespace flightplan::cli {
namespace {

constexpr size_t kMaxLineBytes = size_t{1} << 20;
constexpr size_t kMaxImportBytes = size_t{2} << 30;  // in one go; a store holds less
constexpr int kMaxImportLines = 10'000'000;
constexpr size_t kMaxRefused = 1000;  // of a file that has so many, none is worth reading on
constexpr size_t kImportBatch = 100;

struct Options {
  BackendOptions backend;
  std::string store;
  std::string gpu, model, tenant, older_than;
  std::vector<std::string> ids;
  bool erase = false;
};

CommandLine Describe(Options* options) {
  return {.name = "evidence",
          .usage = "flightplan evidence list|export|import|prune [FILE] --evidence-store URL | --server ADDRESS",
          .summary = "reported runs: list them, carry them from one store to another, take old ones out",
          .example =
              "flightplan evidence export --evidence-store sqlite:/var/lib/flightplan/evidence.db > evidence.jsonl\n"
              "flightplan evidence prune --evidence-store sqlite:/var/lib/flightplan/evidence.db --older-than 4320h",
          .max_positional = 2,
          .groups = {{"where",
                      {{"--evidence-store", "URL", "sqlite:PATH or postgresql://USER@HOST/DATABASE",
                        ToText(&options->store)}}},
                     {"which",
                      {{"--gpu", "NAME", "of this GPU system", ToText(&options->gpu, {.list = kGpuNames})},
                       {"--model", "NAME", "of this model", ToText(&options->model, {.list = kModelNames})},
                       {"--tenant", "NAME", "prune: reported by this tenant", ToText(&options->tenant)},
                       {"--id", "ID", "prune: this one; may be repeated", ToList(&options->ids)},
                       {"--older-than", "TIME", "prune: received before so long, such as 4320h for 180 days",
                        ToText(&options->older_than)},
                       {"--erase", "",
                        "prune: delete these for good, alone: all taken out; answers from before cannot be replayed",
                        ToSwitch(&options->erase)}}},
                     BackendFlags(&options->backend)},
          .positional = {.words = {"list", "export", "import", "prune"}, .files = true}};
}

// The names that reports have, for those of --gpu and --model.
absl::Status NameAsReported(const std::vector<EvidenceRecord>& records, Options* options) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::shared_ptr<const Catalog> catalog,
                              service::LoadCatalog(options->backend.catalog_dir));
  const auto held = [&](std::string EvidenceRecord::*name) {
    return [&records, name](const std::string& word) {
      return std::any_of(records.begin(), records.end(), [&](const EvidenceRecord& r) { return r.*name == word; });
    };
  };
  const auto name = [](const auto& found) {
    return found.ok() ? absl::StatusOr<std::string>((*found)->name) : absl::StatusOr<std::string>(found.status());
  };
  FLIGHTPLAN_ASSIGN_OR_RETURN(options->gpu, service::NameInEvidence(name(catalog->FindGpu(options->gpu)), options->gpu,
                                                                    held(&EvidenceRecord::gpu)));
  FLIGHTPLAN_ASSIGN_OR_RETURN(options->model, service::NameInEvidence(name(catalog->FindModel(options->model)),
                                                                      options->model, held(&EvidenceRecord::model)));
  return absl::OkStatus();
}

// What a store holds, as messages.
absl::StatusOr<std::vector<v1::Measurement>> ReadStore(Options options) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::unique_ptr<EvidenceStore> store,
                              service::OpenEvidenceStore(options.store, service::IfMissing::kRefuse));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const EvidenceChanges all, store->ChangesSince(0));
  FLIGHTPLAN_RETURN_IF_ERROR(NameAsReported(all.records, &options));
  std::vector<v1::Measurement> measurements;
  for (const EvidenceRecord& record : all.records) {
    if (!options.gpu.empty() && record.gpu != options.gpu) continue;
    if (!options.model.empty() && record.model != options.model) continue;
    v1::Measurement& measurement = measurements.emplace_back();
    if (!measurement.ParseFromString(record.content)) {
      return absl::DataLossError(absl::StrCat("measurement ", record.id, " cannot be read"));
    }
    measurement.set_revision(record.revision);
  }
  return measurements;
}

// EvidenceService of a server.
class Remote {
 public:
  Remote(const std::string& address, const std::shared_ptr<grpc::Channel>& channel)
      : address_(address), channel_(channel), stub_(v1::EvidenceService::NewStub(channel)) {}

  absl::Status Report(const v1::Measurement& measurement) {
    v1::ReportMeasurementRequest request;
    *request.mutable_measurement() = measurement;
    v1::ReportMeasurementResponse response;
    grpc::ClientContext context;
    FLIGHTPLAN_RETURN_IF_ERROR(Prepare(&context));
    return Status(stub_->ReportMeasurement(&context, request, &response));
  }
  absl::StatusOr<std::vector<v1::Measurement>> List(const Options& options) {
    std::vector<v1::Measurement> all;
    v1::ListMeasurementsRequest request;
    request.set_gpu(options.gpu);
    request.set_model(options.model);
    request.set_page_size(kPageSize);
    do {
      grpc::ClientContext context;
      FLIGHTPLAN_RETURN_IF_ERROR(Prepare(&context));
      v1::ListMeasurementsResponse page;
      FLIGHTPLAN_RETURN_IF_ERROR(Status(stub_->ListMeasurements(&context, request, &page)));
      all.insert(all.end(), page.measurements().begin(), page.measurements().end());
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return all;
  }

 private:
  absl::Status Prepare(grpc::ClientContext* context) {
    const auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(kServerDeadlineSeconds);
    AddToken(context);
    context->set_deadline(deadline);
    return AwaitConnection(channel_.get(), address_, deadline);
  }
  absl::Status Status(const grpc::Status& status) const {
    if (status.ok()) return absl::OkStatus();
    const auto code = static_cast<absl::StatusCode>(status.error_code());
    if (code == absl::StatusCode::kDeadlineExceeded) return NoAnswerInTime(address_);
    if (code == absl::StatusCode::kUnavailable) return NoAnswer(address_, status.error_message());
    return absl::Status(code, status.error_message());
  }

  const std::string address_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::EvidenceService::Stub> stub_;
};

struct Imported {
  int added = 0, same = 0, taken_out = 0;
  std::vector<std::string> refused;  // "line 7: why"
};

// Takes a batch of lines, `first` being the number of the first.
using Sink = std::function<absl::Status(int first, const std::vector<v1::Measurement>&, Imported*)>;

Sink IntoServer(Remote* remote) {
  return [remote](int first, const std::vector<v1::Measurement>& batch, Imported* result) -> absl::Status {
    for (size_t i = 0; i < batch.size(); ++i) {
      absl::Status status = remote->Report(batch[i]);
      if (status.ok()) ++result->added;  // a server does not say whether it knew it
      if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) return status;
      if (!status.ok())
        result->refused.push_back(absl::StrCat("line ", first + static_cast<int>(i), ": ", status.message()));
    }
    return absl::OkStatus();
  };
}

Sink IntoStore(EvidenceStore* store, const Resolver* resolver) {
  return [store, resolver](int first, const std::vector<v1::Measurement>& batch, Imported* result) -> absl::Status {
    std::vector<EvidenceRecord> records;
    std::vector<int> lines;
    for (size_t i = 0; i < batch.size(); ++i) {
      const int line = first + static_cast<int>(i);
      const auto record = service::RecordOfExport(batch[i], absl::Now(),
                                                  [&](const v1::Measurement& message, std::optional<int64_t> now_us) {
                                                    return resolver->ReadMeasurement(message, now_us);
                                                  });
      if (!record.ok()) {
        result->refused.push_back(absl::StrCat("line ", line, ": ", record.status().message()));
        continue;
      }
      records.push_back(*record);
      lines.push_back(line);
    }
    if (records.empty()) return absl::OkStatus();
    FLIGHTPLAN_ASSIGN_OR_RETURN(const std::vector<AddOutcome> outcomes, store->Add(records));
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].result == AddResult::kAdded) ++result->added;
      if (outcomes[i].result == AddResult::kSame) ++(outcomes[i].taken_out ? result->taken_out : result->same);
      if (outcomes[i].result == AddResult::kConflict) {
        result->refused.push_back(
            absl::StrCat("line ", lines[i], ": ", records[i].id, " is there with another content"));
      }
    }
    return absl::OkStatus();
  };
}

absl::Status Import(service::LineReader* in, const Sink& sink, Imported* result) {
  std::vector<v1::Measurement> batch;
  int first = 1;
  const auto flush = [&]() -> absl::Status {
    const std::vector<v1::Measurement> taken = std::exchange(batch, {});
    return taken.empty() ? absl::OkStatus() : sink(first, taken, result);
  };
  for (;;) {
    const absl::StatusOr<std::optional<absl::string_view>> text = in->Next();
    if (!text.ok() || !text->has_value()) {
      FLIGHTPLAN_RETURN_IF_ERROR(flush());
      return text.status();
    }
    if (in->number() > kMaxImportLines) {
      FLIGHTPLAN_RETURN_IF_ERROR(flush());
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxImportLines, " lines; import them in parts"));
    }
    if (absl::StripAsciiWhitespace(**text).empty()) {
      FLIGHTPLAN_RETURN_IF_ERROR(flush());
      continue;
    }
    v1::Measurement measurement;
    if (!google::protobuf::util::JsonStringToMessage(std::string(**text), &measurement).ok()) {
      FLIGHTPLAN_RETURN_IF_ERROR(flush());
      result->refused.push_back(absl::StrCat("line ", in->number(), ": no measurement in JSON"));
    } else {
      if (batch.empty()) first = in->number();
      batch.push_back(std::move(measurement));
      if (batch.size() == kImportBatch) FLIGHTPLAN_RETURN_IF_ERROR(flush());
    }
    if (result->refused.size() >= kMaxRefused) {
      FLIGHTPLAN_RETURN_IF_ERROR(flush());
      return absl::InvalidArgumentError(
          absl::StrCat("line ", in->number(), ": ", kMaxRefused, " lines were refused; the rest is not read"));
    }
  }
}

// `remote`: the server, where it is one and no store.
int RunImport(const CommandLine& command, const Options& options, const std::string& path, Remote* remote,
              Context& context) {
  auto file = service::InputFile::Open(path);
  if (!file.ok()) return Misuse(command, file.status().message(), context);
  service::LineReader in(*std::move(file), kMaxLineBytes, kMaxImportBytes);
  Imported result;
  absl::Status status;
  if (!options.store.empty()) {
    const auto catalog = service::LoadCatalog(options.backend.catalog_dir);
    if (!catalog.ok()) return Misuse(command, catalog.status().message(), context);
    const Resolver resolver(*catalog);
    const auto store = service::OpenEvidenceStore(options.store);
    if (!store.ok()) return FailedStore(command, options.store, store.status(), context);
    status = Import(&in, IntoStore(store->get(), &resolver), &result);
  } else {
    status = Import(&in, IntoServer(remote), &result);
  }
  absl::StrAppend(&context.out, result.added, options.store.empty() ? " stored" : " added", ", ", result.same,
                  " there already, ",
                  result.taken_out > 0 ? absl::StrCat(result.taken_out, " taken out before and left so, ") : "",
                  result.refused.size(), " refused\n");
  for (const std::string& why : result.refused) {
    absl::StrAppend(&context.err, "flightplan evidence: ", context.terminal.Shown(why), "\n");
  }
  if (!status.ok()) return FailedStore(command, options.store, status, context);
  return result.refused.empty() ? kExitOk : kExitFindings;
}

int RunPrune(const CommandLine& command, Options options, Context& context) {
  if (options.store.empty()) return Misuse(command, "prune wants --evidence-store: a server does not prune", context);
  PruneFilter filter;
  filter.tenant = options.tenant;
  filter.ids = options.ids;
  if (!options.older_than.empty()) {
    absl::Duration age;
    if (!absl::ParseDuration(options.older_than, &age) || age <= absl::ZeroDuration()) {
      return Misuse(command, "--older-than wants a time such as 4320h", context);
    }
    filter.received_before_us = absl::ToUnixMicros(absl::Now() - age);
  }
  const bool any = filter.received_before_us != 0 || !filter.ids.empty() || !options.gpu.empty() ||
                   !options.model.empty() || !filter.tenant.empty();
  if (!any && !options.erase) {
    return Misuse(command, "prune wants --older-than, --id, --gpu, --model, --tenant or --erase", context);
  }
  const auto store = service::OpenEvidenceStore(options.store, service::IfMissing::kRefuse);
  if (!store.ok()) return FailedStore(command, options.store, store.status(), context);
  if (!options.gpu.empty() || !options.model.empty()) {
    const auto all = (*store)->ChangesSince(0);
    if (!all.ok()) return FailedStore(command, options.store, all.status(), context);
    const absl::Status named = NameAsReported(all->records, &options);
    if (!named.ok()) return Misuse(command, named.message(), context);
    filter.gpu = options.gpu;
    filter.model = options.model;
  }
  if (any) {
    const auto pruned = (*store)->Prune(filter);
    if (!pruned.ok()) return FailedStore(command, options.store, pruned.status(), context);
    absl::StrAppend(&context.out, *pruned, " taken out\n");
  }
  if (options.erase) {
    const auto erased = (*store)->Erase(filter);
    if (!erased.ok()) return FailedStore(command, options.store, erased.status(), context);
    absl::StrAppend(&context.out, *erased, " erased\n");
  }
  return kExitOk;
}

// A flag that an action does not take is not passed over: less or more would be done than is asked for.
std::string FlagNotTaken(absl::string_view action, const Options& options) {
  if (action == "prune") return "";
  if (!options.tenant.empty()) return "--tenant";
  if (!options.ids.empty()) return "--id";
  if (!options.older_than.empty()) return "--older-than";
  if (options.erase) return "--erase";
  if (action != "import") return "";
  return !options.gpu.empty() ? "--gpu" : !options.model.empty() ? "--model" : "";
}

}  // namespace

int FailedStore(const CommandLine& command, absl::string_view location, const absl::Status& status, Context& context) {
  const int exit = Failed(command, status, context);
  return exit == kExitUnreachable && absl::StartsWith(location, "sqlite:") ? kExitMisuse : exit;
}

int RunEvidence(Arguments args, Context& context) {
  Options options;
  const CommandLine command = Describe(&options);
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  if (options.store.empty() == options.backend.server.empty()) {
    return Misuse(command, "wants either --evidence-store or --server", context);
  }
  std::optional<Remote> remote;
  if (options.store.empty()) {
    const auto channel = MakeChannel(options.backend.server);
    if (!channel.ok()) return Misuse(command, channel.status().message(), context);
    remote.emplace(options.backend.server, *channel);
  }
  const std::string action = parsed.positional.empty() ? "" : parsed.positional[0];
  const size_t takes = action == "import" ? 2 : 1;
  if (parsed.positional.size() > takes) return Misuse(command, "too many arguments", context);
  if (const std::string flag = FlagNotTaken(action, options); !flag.empty() && !action.empty()) {
    return Misuse(command, absl::StrCat(action, " takes no ", flag), context);
  }
  if (action == "import") {
    return RunImport(command, options, parsed.positional.size() > 1 ? parsed.positional[1] : "-",
                     remote.has_value() ? &*remote : nullptr, context);
  }
  if (action == "prune") return RunPrune(command, options, context);
  if (action != "list" && action != "export") return Misuse(command, "wants list, export, import or prune", context);
  const auto measurements = remote.has_value() ? remote->List(options) : ReadStore(options);
  if (!measurements.ok()) return FailedStore(command, options.store, measurements.status(), context);
  if (action == "list") return ListMeasurements(*measurements, context);
  const absl::Status written = ExportMeasurements(*measurements, context);
  return written.ok() ? kExitOk : Failed(command, written, context);
}

}  // namespace flightplan::cli
