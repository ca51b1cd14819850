#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/commands/evidence.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/canonical_bytes.h"
#include "resolver/resolver.h"
#include "service/evidence/evidence_location.h"
#include "service/evidence/evidence_snapshot.h"
#include "service/local/catalog_folder.h"
#include "service/local/input_file.h"
#include "service/observe/replay_record.h"

namespace flightplan::cli {
namespace {

constexpr size_t kMaxLineBytes = size_t{4} << 20;  // the largest request, in base64, and room
constexpr size_t kMaxLogBytes = size_t{1} << 40;
constexpr int kMaxUnreadable = 1000;
constexpr size_t kMaxComplaintBytes = size_t{1} << 20;  // lines that differ are counted on, and not named any more

enum class Verdict { kSame, kDifferent, kOther, kWithheld, kUndecided, kUnreadable };
struct VerdictName {
  Verdict verdict;
  const char* name;
};
constexpr VerdictName kVerdicts[] = {
    {Verdict::kSame, "same"},
    {Verdict::kDifferent, "different"},
    {Verdict::kOther, "on another catalogue or on evidence that is gone"},
    {Verdict::kWithheld, "without their request, which has text that the log does not store (--decision_log_text)"},
    {Verdict::kUndecided, "reviews of a door that decided nothing"},
    {Verdict::kUnreadable, "unreadable"}};

struct Line {
  std::string decision_id, method, catalog_revision, request, withheld, sha256;
  int64_t evidence_revision = 1;
  bool stale = false;
  bool undecided = false;  // a door's review that asked nothing: there is no answer to replay
};

std::string Field(const google::protobuf::Struct& object, const char* name) {
  const auto found = object.fields().find(name);
  return found == object.fields().end() ? std::string() : found->second.string_value();
}

std::optional<Line> ReadLine(const std::string& text) {
  google::protobuf::Struct object;
  if (!google::protobuf::util::JsonStringToMessage(text, &object).ok()) return std::nullopt;
  Line line;
  line.decision_id = Field(object, "decision_id");
  line.method = Field(object, "method");
  line.catalog_revision = Field(object, "catalog_revision");
  line.withheld = Field(object, "request_withheld");
  line.sha256 = Field(object, "answer_sha256");
  line.stale = Field(object, "evidence_stale") == "yes";
  line.undecided = line.decision_id.empty() && !Field(object, "door").empty();
  if (line.undecided) return line;
  if (line.sha256.empty() || !absl::Base64Unescape(Field(object, "request"), &line.request)) return std::nullopt;
  if (!absl::SimpleAtoi(Field(object, "evidence_revision"), &line.evidence_revision)) return std::nullopt;
  return line;
}

class Replayer {
 public:
  Replayer(std::shared_ptr<const Catalog> catalog, EvidenceStore* store)
      : catalog_(std::move(catalog)), resolver_(catalog_), store_(store) {}

  Verdict Judge(const Line& line, std::string* why) {
    if (line.undecided) return Verdict::kUndecided;
    if (line.catalog_revision != catalog_->revision()) {
      *why = absl::StrCat("catalogue ", line.catalog_revision.substr(0, 12), ", here it is ",
                          catalog_->revision().substr(0, 12));
      return Verdict::kOther;
    }
    if (!line.withheld.empty()) {
      *why = line.withheld;
      return Verdict::kWithheld;
    }
    const absl::StatusOr<std::string> answer = line.method == "ResolveConfig" ? Resolve(line) : Validate(line);
    if (!answer.ok()) {
      *why = std::string(answer.status().message());
      return absl::IsFailedPrecondition(answer.status()) ? Verdict::kOther : Verdict::kDifferent;
    }
    const std::string sha256 = service::FastSha256Hex(*answer);
    if (sha256 == line.sha256) return Verdict::kSame;
    *why = absl::StrCat("the answer's SHA-256 was ", line.sha256.substr(0, 16), ", now it is ", sha256.substr(0, 16));
    return Verdict::kDifferent;
  }

 private:
  absl::StatusOr<std::string> Resolve(const Line& line) {
    v1::ResolveConfigRequest request;
    v1::ResolveConfigResponse response;
    if (!request.ParseFromString(line.request)) return absl::InvalidArgumentError("the request cannot be read");
    FLIGHTPLAN_ASSIGN_OR_RETURN(const auto evidence, EvidenceAt(line.evidence_revision, line.stale));
    FLIGHTPLAN_RETURN_IF_ERROR(resolver_.ResolveConfig(request, &response, *evidence));
    return CanonicalBytes(response);
  }

  absl::StatusOr<std::string> Validate(const Line& line) {
    v1::ValidateConfigRequest request;
    v1::ValidateConfigResponse response;
    if (!request.ParseFromString(line.request)) return absl::InvalidArgumentError("the request cannot be read");
    FLIGHTPLAN_ASSIGN_OR_RETURN(const auto evidence, EvidenceAt(line.evidence_revision, line.stale));
    FLIGHTPLAN_RETURN_IF_ERROR(resolver_.ValidateConfig(request, &response, *evidence));
    return CanonicalBytes(response);
  }

  // A log goes through few revisions, mostly in their order: the last one is kept.
  absl::StatusOr<std::shared_ptr<const EvidenceSnapshot>> EvidenceAt(int64_t revision, bool stale) {
    if (evidence_ != nullptr && evidence_->revision() == revision && evidence_->stale() == stale) return evidence_;
    std::vector<EvidenceRecord> records;
    if (store_ != nullptr) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(records, store_->AsOf(revision));
    } else if (revision != kEmptyEvidenceRevision) {
      return absl::FailedPreconditionError(
          absl::StrCat("evidence revision ", revision, ": say where it is with --evidence-store"));
    }
    evidence_ = service::SnapshotOf(revision, stale, records, &reader_);
    return evidence_;
  }

  const std::shared_ptr<const Catalog> catalog_;
  const Resolver resolver_;
  EvidenceStore* const store_;
  service::RecordReader reader_{[this](const v1::Measurement& message, std::optional<int64_t> now_us) {
    return resolver_.ReadMeasurement(message, now_us);
  }};
  std::shared_ptr<const EvidenceSnapshot> evidence_;
};

}  // namespace

int RunReplay(Arguments args, Context& context) {
  std::string store_location, catalog_dir;
  const CommandLine command{
      .name = "replay",
      .usage = "flightplan replay LOG [--evidence-store URL] [--catalog-dir DIR]",
      .summary = "whether the answers of a decision log would be the same today, byte for byte",
      .example =
          "flightplan replay /var/log/flightplan/decisions.jsonl --evidence-store "
          "sqlite:/var/lib/flightplan/evidence.db",
      .max_positional = 1,
      .groups = {{"on what",
                  {{"--evidence-store", "URL", "the server's store: sqlite:PATH or postgresql://USER@HOST/DATABASE",
                    ToText(&store_location)},
                   {"--catalog-dir", "DIR", "the server's overlay of the catalogue", ToText(&catalog_dir)}}}},
      .positional = {.files = true}};
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  if (parsed.positional.empty()) return Misuse(command, "wants a decision log, or - for standard input", context);
  const auto catalog = service::LoadCatalog(catalog_dir);
  if (!catalog.ok()) return Misuse(command, catalog.status().message(), context);
  std::unique_ptr<EvidenceStore> store;
  if (!store_location.empty()) {
    auto opened = service::OpenEvidenceStore(store_location, service::IfMissing::kRefuse);
    if (!opened.ok()) return FailedStore(command, store_location, opened.status(), context);
    store = *std::move(opened);
  }
  const std::string& path = parsed.positional[0];
  auto file = service::InputFile::Open(path);
  if (!file.ok()) return Misuse(command, file.status().message(), context);
  service::LineReader in(*std::move(file), kMaxLineBytes, kMaxLogBytes);

  Replayer replayer(*catalog, store.get());
  std::map<Verdict, int> counts;
  for (;;) {
    const absl::StatusOr<std::optional<absl::string_view>> text = in.Next();
    if (!text.ok()) return Misuse(command, absl::StrCat(text.status().message(), ": no decision log"), context);
    if (!text->has_value()) break;
    const std::optional<Line> line = ReadLine(std::string(**text));
    std::string why = "no line of a decision log";
    const Verdict verdict = line.has_value() ? replayer.Judge(*line, &why) : Verdict::kUnreadable;
    ++counts[verdict];
    if (verdict == Verdict::kSame || verdict == Verdict::kUndecided) continue;
    if (counts[Verdict::kUnreadable] > kMaxUnreadable) {
      return Misuse(command, absl::StrCat(path, ": more than ", kMaxUnreadable, " unreadable lines: no decision log"),
                    context);
    }
    if (context.err.size() > kMaxComplaintBytes) continue;
    absl::StrAppend(&context.err, "line ", in.number(), line.has_value() ? absl::StrCat(" ", line->decision_id) : "",
                    ": ", context.terminal.Shown(why), "\n");
  }
  std::string summary;
  int total = 0;  // answers
  for (const VerdictName& row : kVerdicts) {
    if (row.verdict != Verdict::kUndecided) total += counts[row.verdict];
    if (row.verdict == Verdict::kSame || counts[row.verdict] > 0) {
      absl::StrAppend(&summary, ", ", counts[row.verdict], " ", row.name);
    }
  }
  absl::StrAppend(&context.out, total, " answers", summary, "\n");
  if (counts[Verdict::kDifferent] > 0) return kExitFindings;
  return counts[Verdict::kSame] == total ? kExitOk : kExitMisuse;
}

}  // namespace flightplan::cli
