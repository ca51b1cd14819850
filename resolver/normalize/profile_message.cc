#include "resolver/normalize/profile_message.h"

#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/profile.pb.h"
#include "google/protobuf/util/json_util.h"
#include "resolver/base/json.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/request_bounds.h"
#include "resolver/plan/quantity.h"

namespace flightplan {
namespace {

// What a row may hold by its unit. Rates of tiny transfers lie far below those that a catalogue states.
struct RowUnit {
  absl::string_view name;
  Quantity quantity;
};
constexpr RowUnit kUnits[] = {{"us", {"microseconds", 1e-6, 1e12}},
                              {"bytes_per_second", {"bytes per second", 1, kBytesPerSecond.high}},
                              {"flops_per_second", {"FLOP per second", 1, kFlopsPerSecond.high}},
                              {"ratio", {"as a ratio", 1e-9, 1e9}}};
constexpr double kMostWatts = 1e6;
// Of google.protobuf.Timestamp: the years 1 to 9999. Another has no JSON form, in which profiles are stored.
constexpr int64_t kFirstSecond = -62'135'596'800, kLastSecond = 253'402'300'799;
constexpr double kMaxParameter = 1e18;  // either sign: sizes, counts, SMs

std::string Path(absl::string_view field, absl::string_view name) {
  return field.empty() ? std::string(name) : absl::StrCat(field, ".", name);
}

void CheckText(absl::string_view text, absl::string_view field, Violations* violations) {
  if (text.size() > kMaxProfileText) {
    violations->Add(field, absl::StrCat("is longer than ", kMaxProfileText, " bytes"));
  } else if (std::any_of(text.begin(), text.end(),
                         [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); })) {
    violations->Add(field, "has control characters");
  }
}

// "hbm.copy", "a2a.p2p.push": words of small letters, digits and '_', joined by dots.
bool IsRowId(absl::string_view id) {
  if (id.empty() || id.size() > kMaxProfileName || !absl::ascii_isalpha(static_cast<unsigned char>(id[0])))
    return false;
  return std::all_of(id.begin(), id.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return absl::ascii_islower(u) || absl::ascii_isdigit(u) || c == '_' || c == '.';
  });
}

void SortMembers(rapidjson::Value* object) {
  std::sort(object->MemberBegin(), object->MemberEnd(), [](const auto& a, const auto& b) {
    return absl::string_view(a.name.GetString(), a.name.GetStringLength()) <
           absl::string_view(b.name.GetString(), b.name.GetStringLength());
  });
}

RowKind ReadKind(const std::string& kind, absl::string_view field, Violations* violations) {
  if (kind == "measured") return RowKind::kMeasured;
  if (kind == "imported") return RowKind::kImported;
  if (kind == "emulated") return RowKind::kEmulated;
  if (kind == "synthetic") return RowKind::kSynthetic;
  violations->Add(Path(field, "kind"),
                  absl::StrCat("is '", Utf8Prefix(kind, 64), "', must be measured, imported, emulated or synthetic"));
  return RowKind::kSynthetic;
}

// 0 is what a kernel that did not run measured; an interval may begin there.
void CheckInterval(const v1::ProbeRow& m, absl::string_view field, Violations* violations) {
  const RowUnit* unit = nullptr;
  for (const RowUnit& known : kUnits) {
    if (m.unit() == known.name) unit = &known;
  }
  if (unit == nullptr) {
    return violations->Add(Path(field, "unit"),
                           absl::StrCat("is '", absl::CEscape(m.unit().substr(0, 64)),
                                        "', must be us, bytes_per_second, flops_per_second or ratio"));
  }
  bool inside = true;
  const std::pair<absl::string_view, double> numbers[] = {{"value", m.value()}, {"low", m.low()}, {"high", m.high()}};
  for (const auto& [name, number] : numbers) {
    const std::string fault = number == 0 ? "" : OutsideOf(unit->quantity, number);
    if (fault.empty()) continue;
    violations->Add(Path(field, name), fault);
    inside = false;
  }
  if (inside && !(m.low() <= m.value() && m.value() <= m.high())) {
    violations->Add(
        field, absl::StrCat("low ", m.low(), ", value ", m.value(), ", high ", m.high(), " must stand in this order"));
  }
}

}  // namespace

absl::Status ProfileFromJson(absl::string_view text, v1::HardwareProfile* message) {
  if (text.size() > kMaxProfileBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a profile of ", text.size(), " bytes, at most ", kMaxProfileBytes));
  }
  const auto status = google::protobuf::util::JsonStringToMessage(std::string(text), message);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("is no profile in JSON: ", absl::string_view(status.message().data(), status.message().size())));
}

std::string ProfileToJson(const v1::HardwareProfile& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  (void)google::protobuf::util::MessageToJsonString(message, &text, options);  // every profile has a JSON form
  // Maps come in the order of their hashes, which differs from run to run.
  rapidjson::Document document;
  if (ReadJson(text, JsonNumbers::kFinite, &document).has_value() || !document.IsObject()) return text;
  if (const auto rows = document.FindMember("rows"); rows != document.MemberEnd()) {
    for (rapidjson::Value& row : rows->value.GetArray()) {
      for (const char* map : {"parameters", "labels"}) {
        if (const auto found = row.FindMember(map); found != row.MemberEnd()) SortMembers(&found->value);
      }
    }
  }
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);
  writer.SetIndent(' ', 1);
  document.Accept(writer);
  return absl::StrCat(absl::string_view(buffer.GetString(), buffer.GetSize()), "\n");
}

bool IsProfileName(absl::string_view name) {
  if (name.empty() || name.size() > kMaxProfileName || name[0] == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("._-", absl::string_view(&c, 1));
  });
}

ProfileRow RowFromMessage(const v1::ProbeRow& m, absl::string_view field, Violations* violations) {
  ProfileRow row;
  if (!IsRowId(m.id())) {
    violations->Add(Path(field, "id"), absl::StrCat("is '", absl::CEscape(m.id().substr(0, 64)),
                                                    "', must be a row's id such as hbm.copy"));
  }
  row.id = m.id();
  if (m.parameters_size() > kMaxRowParameters || m.labels_size() > kMaxRowParameters) {
    violations->Add(field, absl::StrCat("has more than ", kMaxRowParameters, " parameters"));
    return row;
  }
  for (const auto& [name, value] : m.parameters()) {
    CheckText(name, Path(field, "parameters"), violations);
    if (!(std::abs(value) <= kMaxParameter)) {
      violations->Add(Path(field, absl::StrCat("parameters.", Utf8Prefix(name, 64))),
                      absl::StrCat("must be -", kMaxParameter, "..", kMaxParameter, ", not ", value));
    }
    row.parameters[name] = value;
  }
  for (const auto& [name, value] : m.labels()) {
    CheckText(name, Path(field, "labels"), violations);
    CheckText(value, Path(field, "labels"), violations);
    row.labels[name] = value;
  }
  row.value = m.value();
  row.low = m.low();
  row.high = m.high();
  row.unit = m.unit();
  CheckInterval(m, field, violations);
  row.sample_count = m.sample_count();
  if (m.sample_count() < 0) violations->Add(Path(field, "sample_count"), "must not be negative");
  row.kind = ReadKind(m.kind(), field, violations);
  return row;
}

HardwareProfile ProfileFromMessage(const v1::HardwareProfile& m, absl::string_view field, Violations* violations) {
  HardwareProfile profile;
  profile.name = m.name();
  if (!m.name().empty() && !IsProfileName(m.name())) {
    violations->Add(Path(field, "name"), absl::StrCat("is '", absl::CEscape(m.name().substr(0, 64)), "', must be 1 to ",
                                                      kMaxProfileName, " of A-Z a-z 0-9 . _ -"));
  }
  const std::pair<const char*, const std::string*> texts[] = {
      {"device_name", &m.device_name()},       {"device_uuid", &m.device_uuid()},
      {"driver_version", &m.driver_version()}, {"probe_version", &m.probe_version()},
      {"cuda_version", &m.cuda_version()},     {"gpu", &m.gpu()}};
  for (const auto& [name, text] : texts) CheckText(*text, Path(field, name), violations);
  if (m.device_name().empty()) {
    violations->Add(Path(field, "device_name"), "is required: the GPU as the driver names it");
  }
  if (m.kind() != "measured" && m.kind() != "synthetic") {
    violations->Add(Path(field, "kind"),
                    absl::StrCat("is '", absl::CEscape(m.kind().substr(0, 64)), "', must be measured or synthetic"));
  }
  CheckNotes(Path(field, "conditions.throttle_reasons"), m.conditions().throttle_reasons(), violations);
  CheckNotes(Path(field, "notes"), m.notes(), violations);
  if (m.sm_count() < 0 || m.sm_count() > 4096) violations->Add(Path(field, "sm_count"), "must be 0..4096");
  const std::pair<const char*, double> watts[] = {{"power_watts", m.conditions().power_watts()},
                                                  {"power_limit_watts", m.conditions().power_limit_watts()}};
  for (const auto& [name, value] : watts) {
    if (value >= 0 && value <= kMostWatts) continue;
    violations->Add(Path(field, absl::StrCat("conditions.", name)), absl::StrCat("must be 0..1e6, not ", value));
  }
  const auto& time = m.measure_time();
  if (time.seconds() < kFirstSecond || time.seconds() > kLastSecond || time.nanos() < 0 || time.nanos() > 999'999'999) {
    violations->Add(Path(field, "measure_time"), "is no time between the years 1 and 9999");
  }
  if (m.rows_size() > kMaxProfileRows) {
    violations->Add(Path(field, "rows"), absl::StrCat("has more than ", kMaxProfileRows, " entries"));
    return profile;
  }
  profile.device_name = m.device_name();
  profile.device_uuid = m.device_uuid();
  profile.driver_version = m.driver_version();
  profile.probe_version = m.probe_version();
  profile.gpu = m.gpu();
  profile.measure_seconds = m.measure_time().seconds();
  profile.sm_count = m.sm_count();
  profile.partial = m.partial();
  profile.synthetic = m.kind() == "synthetic";
  profile.rows.reserve(static_cast<size_t>(m.rows_size()));
  for (int i = 0; i < m.rows_size(); ++i) {
    profile.rows.push_back(RowFromMessage(m.rows(i), Path(field, absl::StrCat("rows[", i, "]")), violations));
    // One replayed row makes the whole profile a replay.
    profile.synthetic |= profile.rows.back().kind == RowKind::kSynthetic;
  }
  return profile;
}

}  // namespace flightplan
