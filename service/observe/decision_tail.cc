#include "service/observe/decision_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "flightplan/v1/fleet_service.pb.h"
#include "rapidjson/document.h"
#include "resolver/base/json.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/work.h"
#include "resolver/normalize/violations.h"

namespace flightplan::service {
namespace {

constexpr int kMaxDecisions = 1000, kUsualDecisions = 100;
constexpr size_t kMaxTenants = 200, kMaxRules = 500, kMaxRulesOfOne = 64;
// Of texts: longer ones are not ours.
constexpr size_t kMaxNameBytes = 256;

struct Tail {
  std::string text;
  bool whole = false;
};

absl::Status Unreadable(const std::string& path, int error) {
  return absl::FailedPreconditionError(absl::StrCat("decision log ", path, ": ", std::strerror(error)));
}

absl::StatusOr<Tail> ReadTail(const std::string& path, size_t max_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Unreadable(path, errno);
  const absl::Cleanup close = [fd] { ::close(fd); };
  struct stat file {};
  if (::fstat(fd, &file) != 0) return Unreadable(path, errno);
  if (!S_ISREG(file.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat("decision log ", path, ": no regular file, so nothing to read back"));
  }
  const auto size = static_cast<size_t>(file.st_size);
  Tail tail{std::string(std::min(size, max_bytes), '\0'), size <= max_bytes};
  size_t done = 0;
  while (done < tail.text.size()) {
    const ssize_t n =
        ::pread(fd, &tail.text[done], tail.text.size() - done, static_cast<off_t>(size - tail.text.size() + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Unreadable(path, errno);
    if (n == 0) break;  // somebody has cut it meanwhile
    done += static_cast<size_t>(n);
  }
  tail.text.resize(done);
  return tail;
}

absl::string_view Text(const rapidjson::Value& object, const char* name) {
  const auto found = object.FindMember(name);
  if (found == object.MemberEnd() || !found->value.IsString()) return {};
  return absl::string_view(found->value.GetString(), found->value.GetStringLength()).substr(0, kMaxNameBytes);
}

double Number(const rapidjson::Value& object, const char* name) {
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() || !found->value.IsNumber() ? 0 : found->value.GetDouble();
}

void SetTime(absl::Time time, google::protobuf::Timestamp* out) {
  const int64_t seconds = absl::ToUnixSeconds(time);
  out->set_seconds(seconds);
  out->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
}

void AddRules(const rapidjson::Value& object, const char* list, v1::LoggedDecision* decision) {
  const auto found = object.FindMember(list);
  if (found == object.MemberEnd() || !found->value.IsArray()) return;
  std::set<absl::string_view> seen(decision->rule_ids().begin(), decision->rule_ids().end());
  for (const rapidjson::Value& id : found->value.GetArray()) {
    if (seen.size() >= kMaxRulesOfOne) return;
    if (!id.IsString() || id.GetStringLength() > kMaxNameBytes) continue;
    const absl::string_view text(id.GetString(), id.GetStringLength());
    if (seen.insert(text).second) decision->add_rule_ids(text.data(), text.size());
  }
}

struct Line {
  v1::LoggedDecision decision;
  absl::Time time;
  bool refused = false;
};

// Nothing: the line is no decision.
std::optional<Line> ReadLine(absl::string_view text) {
  rapidjson::Document object;
  if (ReadJson(text, JsonNumbers::kFinite, &object).has_value() || !object.IsObject()) return std::nullopt;
  Line line;
  std::string why;
  if (!absl::ParseTime(absl::RFC3339_full, Text(object, "ts"), &line.time, &why)) return std::nullopt;
  v1::LoggedDecision& out = line.decision;
  SetTime(line.time, out.mutable_time());
  absl::string_view rpc = Text(object, "rpc");
  if (absl::StartsWith(rpc, "/flightplan.v1.")) rpc.remove_prefix(rpc.rfind('/') + 1);  // a door's path stays
  out.set_rpc(std::string(rpc));
  if (out.rpc().empty()) return std::nullopt;
  out.set_tenant(std::string(Text(object, "tenant")));
  out.set_target(std::string(Text(object, "target")));
  out.set_digest(std::string(Text(object, "decision_id")));
  out.set_door(std::string(Text(object, "door")));
  out.set_outcome(std::string(Text(object, out.door().empty() ? "outcome" : "door_verdict")));
  out.set_duration_us(Number(object, "duration_ms") * 1e3);
  AddRules(object, "rule_ids", &out);
  AddRules(object, "door_findings", &out);
  line.refused = out.door().empty()
                     ? out.outcome() == "infeasible" || out.outcome() == "rejected" || out.outcome() == "fails_later"
                     : Text(object, "door_allowed") == "no";
  return line;
}

struct Tally {
  int64_t decisions = 0, refused = 0;
  std::set<std::string, std::less<>> others;
  absl::Time newest = absl::InfinitePast();

  void Count(const Line& line) {
    ++decisions;
    refused += line.refused ? 1 : 0;
    newest = std::max(newest, line.time);
  }
};
using Tallies = std::map<std::string, Tally, std::less<>>;

void Send(const Tallies& tallies, size_t most, google::protobuf::RepeatedPtrField<v1::DecisionTally>* out) {
  std::vector<const Tallies::value_type*> order;
  order.reserve(tallies.size());
  for (const auto& entry : tallies) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->second.decisions > b->second.decisions; });
  if (order.size() > most) order.resize(most);
  for (const auto* entry : order) {
    v1::DecisionTally* const tally = out->Add();
    tally->set_name(entry->first);
    tally->set_decision_count(entry->second.decisions);
    tally->set_refused_count(entry->second.refused);
    tally->set_distinct_count(static_cast<int64_t>(entry->second.others.size()));
    SetTime(entry->second.newest, tally->mutable_newest_time());
  }
}

class Summary {
 public:
  Summary(const v1::SummarizeDecisionsRequest& request, v1::SummarizeDecisionsResponse* response)
      : request_(request),
        most_(request.has_max_decision_count() ? request.max_decision_count() : kUsualDecisions),
        response_(*response) {}

  // Newest first.
  void Take(Line line) {
    SetTime(line.time, response_.mutable_oldest_time());
    if (!IsAsked(line.decision)) return;
    response_.set_decision_count(response_.decision_count() + 1);
    Tally& tenant = tenants_[line.decision.tenant()];
    tenant.Count(line);
    for (const std::string& id : line.decision.rule_ids()) {
      Tally& rule = rules_[id];
      rule.Count(line);
      rule.others.insert(line.decision.tenant());
      tenant.others.insert(id);
    }
    if (response_.decisions_size() < most_) *response_.add_decisions() = std::move(line.decision);
  }
  void End() {
    Send(tenants_, kMaxTenants, response_.mutable_tenants());
    Send(rules_, kMaxRules, response_.mutable_rules());
  }

 private:
  bool IsAsked(const v1::LoggedDecision& decision) const {
    const auto& ids = decision.rule_ids();
    return (request_.tenant().empty() || request_.tenant() == decision.tenant()) &&
           (request_.rule_id().empty() || std::find(ids.begin(), ids.end(), request_.rule_id()) != ids.end());
  }

  const v1::SummarizeDecisionsRequest& request_;
  const int most_;
  v1::SummarizeDecisionsResponse& response_;
  Tallies tenants_, rules_;
};

}  // namespace

absl::Status SummarizeDecisions(const std::string& path, const v1::SummarizeDecisionsRequest& request,
                                v1::SummarizeDecisionsResponse* response, size_t max_bytes) {
  Violations violations;
  if (request.has_max_decision_count() &&
      (request.max_decision_count() < 1 || request.max_decision_count() > kMaxDecisions)) {
    violations.Add("max_decision_count",
                   absl::StrCat("must be 1..", kMaxDecisions, ", not ", request.max_decision_count()));
  }
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  FLIGHTPLAN_ASSIGN_OR_RETURN(const Tail tail, ReadTail(path, max_bytes));
  absl::string_view left = tail.text;
  // What begins before the part that was read, and what is not written to its end yet, are no lines.
  const size_t first = tail.whole ? 0 : left.find('\n') + 1, last = left.rfind('\n');
  left = last == left.npos ? "" : left.substr(0, last).substr(std::min(first, last));
  response->set_whole(tail.whole);
  response->set_read_bytes(static_cast<int64_t>(tail.text.size()));
  Summary summary(request, response);
  while (!left.empty()) {
    const size_t before = left.rfind('\n');
    const absl::string_view text = before == left.npos ? left : left.substr(before + 1);
    left = before == left.npos ? absl::string_view() : left.substr(0, before);
    Work::Spend(text.size());
    if (Work::Spent()) return absl::CancelledError("the call was ended before the log was read");
    if (std::optional<Line> line = ReadLine(text); line.has_value()) {
      summary.Take(*std::move(line));
    } else {
      response->set_unreadable_count(response->unreadable_count() + 1);
    }
  }
  summary.End();
  return absl::OkStatus();
}

}  // namespace flightplan::service
