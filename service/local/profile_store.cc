#include "service/local/profile_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "resolver/base/digest.h"
#include "resolver/base/nearest.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/profile_message.h"
#include "resolver/normalize/violations.h"
#include "service/local/input_file.h"

namespace flightplan::service {
namespace {

constexpr absl::string_view kSuffix = ".json";
constexpr int kDefaultPage = 100, kMaxPage = 1000;
// A measurement from further in the future than clocks may differ is one with a wrong clock: its age means nothing.
constexpr absl::Duration kClockSkew = absl::Hours(1);

// "NVIDIA H200" -> "h200".
std::string Slug(absl::string_view device) {
  absl::ConsumePrefix(&device, "NVIDIA ");
  std::string slug;
  for (char c : device) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      slug.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
    } else if (!slug.empty() && slug.back() != '-') {
      slug.push_back('-');
    }
  }
  return slug.substr(0, 40);
}

// Device, the end of its UUID, time: the same measurement gets the same name everywhere.
std::string NameOf(const v1::HardwareProfile& profile) {
  std::string uuid;
  for (char c : profile.device_uuid()) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)))
      uuid.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
  }
  const absl::Time when = absl::FromUnixSeconds(profile.measure_time().seconds());
  return absl::StrCat(Slug(profile.device_name()), uuid.empty() ? "" : "-",
                      uuid.substr(uuid.size() - std::min<size_t>(uuid.size(), 8)), "-",
                      absl::FormatTime("%Y%m%dT%H%M%SZ", when, absl::UTCTimeZone()));
}

absl::Status Down(absl::string_view what, const std::string& path) {
  return WithReason(absl::UnavailableError(absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(errno))),
                    "STORE_DOWN");
}

bool WriteAll(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t wrote = write(fd, text.data() + at, text.size() - at);
    if (wrote < 0 && errno != EINTR) return false;
    if (wrote > 0) at += static_cast<size_t>(wrote);
  }
  return true;
}

absl::Status MakeFolder(const std::string& folder) {
  for (size_t at = folder.find('/', 1);; at = folder.find('/', at + 1)) {
    const std::string part = folder.substr(0, at);
    if (mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) return Down("make folder", part);
    if (at == std::string::npos) return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProfileStore>> ProfileStore::Open(
    ProfileStoreOptions options, const std::function<void(const std::string&)>& complain) {
  if (!options.now) options.now = absl::Now;
  std::unique_ptr<ProfileStore> store(new ProfileStore(std::move(options)));
  const std::string& folder = store->options_.folder;
  if (folder.empty()) return store;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(folder.c_str()), [](DIR* d) { return d ? closedir(d) : 0; });
  if (dir == nullptr) {
    if (errno == ENOENT) return store;
    return absl::FailedPreconditionError(absl::StrCat("profile folder ", folder, ": ", std::strerror(errno)));
  }
  std::vector<std::string> files;
  while (const dirent* entry = readdir(dir.get())) {
    if (entry->d_name[0] != '.' && absl::EndsWith(entry->d_name, kSuffix)) files.emplace_back(entry->d_name);
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    if (store->entries_.size() >= kMaxStoredProfiles || store->bytes_ >= store->options_.max_bytes) {
      complain(absl::StrCat(folder, ": more than ", kMaxStoredProfiles, " profiles or ", store->options_.max_bytes,
                            " bytes, the rest is not read"));
      break;
    }
    if (const absl::Status status = store->Read(file); !status.ok()) complain(std::string(status.message()));
  }
  return store;
}

absl::Status ProfileStore::Read(const std::string& file) {
  const std::string path = absl::StrCat(options_.folder, "/", file);
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxProfileBytes));
  v1::HardwareProfile profile;
  absl::Status status = ProfileFromJson(text, &profile);
  const std::string name = file.substr(0, file.size() - kSuffix.size());
  if (status.ok() && profile.name().empty()) profile.set_name(name);
  if (status.ok() && profile.name() != name) {
    status = absl::InvalidArgumentError(absl::StrCat("names itself ", absl::CEscape(profile.name().substr(0, 64)),
                                                     ": a profile's file is <name>.json"));
  }
  Violations violations;
  if (status.ok()) {
    HardwareProfile read = ProfileFromMessage(profile, "", &violations);
    status = violations.ToStatus();
    if (status.ok()) {
      if (read.gpu.empty() && options_.gpu_of) read.gpu = options_.gpu_of(read.device_name);
      entries_[name] = {profile, FitProfile(std::move(read)), Sha256Hex(ProfileToJson(profile)), text.size()};
      bytes_ += text.size();
    }
  }
  return status.ok() ? status : absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
}

absl::Status ProfileStore::Prepare(v1::HardwareProfile* profile) const {
  Violations violations;
  const HardwareProfile read = ProfileFromMessage(*profile, "profile", &violations);
  if (read.synthetic) violations.Add("profile.kind", "is synthetic: what a fake device replayed is no evidence");
  if (read.measure_seconds <= 0) violations.Add("profile.measure_time", "is required: when it was measured");
  if (read.rows.empty()) violations.Add("profile.rows", "is empty: nothing was measured");
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  if (profile->name().empty()) profile->set_name(NameOf(*profile));
  if (profile->gpu().empty() && options_.gpu_of) profile->set_gpu(options_.gpu_of(profile->device_name()));
  return absl::OkStatus();
}

absl::StatusOr<v1::HardwareProfile> ProfileStore::Put(v1::HardwareProfile profile) {
  FLIGHTPLAN_RETURN_IF_ERROR(Prepare(&profile));
  const std::string json = ProfileToJson(profile), name = profile.name();
  if (json.size() > kMaxProfileBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a profile of ", json.size(), " bytes, at most ", kMaxProfileBytes));
  }
  Violations violations;
  Entry entry = {profile, FitProfile(ProfileFromMessage(profile, "", &violations)), Sha256Hex(json), json.size()};
  const std::lock_guard<std::mutex> writing(writing_);
  FLIGHTPLAN_ASSIGN_OR_RETURN(const bool stored, IsStored(name, entry));
  if (stored) return profile;
  FLIGHTPLAN_RETURN_IF_ERROR(Write(name, json));
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_[name] = std::move(entry);
  bytes_ += json.size();
  return profile;
}

absl::StatusOr<bool> ProfileStore::IsStored(const std::string& name, const Entry& entry) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto known = entries_.find(name); known != entries_.end()) {
    if (known->second.digest == entry.digest) return true;
    return WithReason(absl::AlreadyExistsError(absl::StrCat("another profile is called ", name,
                                                            ": give this one a name of its own, or none")),
                      "PROFILE_CONFLICT");
  }
  const bool full = entries_.size() >= kMaxStoredProfiles;
  if (!full && bytes_ + entry.bytes <= options_.max_bytes) return false;
  const std::string stored =
      full ? absl::StrCat(kMaxStoredProfiles, " profiles are stored")
           : absl::StrCat("with this one the profiles have more than ", options_.max_bytes, " bytes");
  const std::string& folder = options_.folder;
  return absl::ResourceExhaustedError(
      folder.empty() ? absl::StrCat(stored, " in memory: start the server again")
                     : absl::StrCat(stored, ": delete some files of ", folder, ", and start the server again"));
}

absl::Status ProfileStore::Write(const std::string& name, const std::string& json) const {
  if (options_.folder.empty()) return absl::OkStatus();
  FLIGHTPLAN_RETURN_IF_ERROR(MakeFolder(options_.folder));
  // Readers see the old state or the whole file, also after a crash.
  const std::string path = absl::StrCat(options_.folder, "/", name, kSuffix), draft = absl::StrCat(path, ".new");
  const int fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return Down("write", draft);
  const bool written = WriteAll(fd, json) && fsync(fd) == 0;
  if (close(fd) != 0 || !written || rename(draft.c_str(), path.c_str()) != 0) {
    absl::Status status = Down("write", path);
    unlink(draft.c_str());
    return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::HardwareProfile> ProfileStore::Get(const std::string& name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = entries_.find(name); found != entries_.end()) return found->second.message;
  std::vector<absl::string_view> names;
  for (const auto& [known, unused] : entries_) names.push_back(known);
  const absl::string_view nearest = NearestName(name, names);
  return WithReason(
      absl::NotFoundError(absl::StrCat("no profile is called '", absl::CEscape(name.substr(0, 64)), "'",
                                       nearest.empty() ? "" : absl::StrCat("; the nearest is ", nearest))),
      "PROFILE_UNKNOWN");
}

absl::StatusOr<ProfileStore::Page> ProfileStore::List(int size, const std::string& token) const {
  Violations violations;
  if (size < 0) violations.Add("page_size", "must not be negative");
  size_t skip = 0;
  if (!token.empty() && (!absl::SimpleAtoi(token, &skip) || skip > kMaxStoredProfiles)) {
    violations.Add("page_token", "is not one that an answer gave");
  }
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  const size_t most = static_cast<size_t>(size == 0 ? kDefaultPage : std::min(size, kMaxPage));
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<const v1::HardwareProfile*> newest;
  for (const auto& [unused, entry] : entries_) newest.push_back(&entry.message);
  std::stable_sort(newest.begin(), newest.end(), [](const auto* a, const auto* b) {
    return a->measure_time().seconds() > b->measure_time().seconds();
  });
  Page page;
  size_t bytes = 0;
  for (size_t i = skip; i < newest.size() && page.profiles.size() < most; ++i) {
    bytes += newest[i]->ByteSizeLong();
    if (bytes > kMaxProfilePageBytes && !page.profiles.empty()) break;
    page.profiles.push_back(*newest[i]);
  }
  if (skip + page.profiles.size() < newest.size()) page.next = absl::StrCat(skip + page.profiles.size());
  return page;
}

bool ProfileStore::IsLocal(const HardwareProfile& profile) const {
  const std::vector<std::string>& uuids = options_.local.uuids;
  return !profile.device_uuid.empty() && std::find(uuids.begin(), uuids.end(), profile.device_uuid) != uuids.end();
}

bool ProfileStore::IsEvidence(const Entry& entry) const {
  const HardwareProfile& profile = entry.fitted->profile;
  const absl::Duration age = options_.now() - absl::FromUnixSeconds(profile.measure_seconds);
  if (profile.synthetic || age > options_.max_age || age < -kClockSkew) return false;
  const std::string& driver = options_.local.driver_version;
  return !IsLocal(profile) || driver.empty() || profile.driver_version.empty() || driver == profile.driver_version;
}

FoundProfile ProfileStore::Find(const GpuSystem& gpu, absl::string_view driver_version) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Entry* best = nullptr;
  const auto rank = [this](const Entry& entry) {
    const HardwareProfile& profile = entry.fitted->profile;
    return std::tuple(!profile.partial, IsLocal(profile), profile.measure_seconds);
  };
  for (const auto& [unused, entry] : entries_) {
    const HardwareProfile& profile = entry.fitted->profile;
    const bool other_driver =
        !driver_version.empty() && !profile.driver_version.empty() && driver_version != profile.driver_version;
    if (other_driver || !IsOfType(profile, gpu) || !IsEvidence(entry)) continue;
    if (best == nullptr || rank(entry) > rank(*best)) best = &entry;
  }
  if (best == nullptr) return {};
  return {best->fitted, IsLocal(best->fitted->profile) ? ProfileOrigin::kThisGpu : ProfileOrigin::kThisSite};
}

std::string ProfileStore::revision() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string digests;
  for (const auto& [unused, entry] : entries_) {
    if (IsEvidence(entry)) digests += entry.digest;
  }
  return digests.empty() ? "" : Sha256Hex(digests).substr(0, 12);
}

absl::StatusOr<std::shared_ptr<ProfileStore>> OpenProfileStore(
    const std::string& folder, absl::Duration max_age, std::function<std::shared_ptr<const Catalog>()> catalog,
    const std::function<void(const std::string&)>& complain) {
  ProfileStoreOptions options;
  options.folder = folder;
  options.max_age = max_age;
  options.local = ReadLocalGpus();
  options.gpu_of = [catalog = std::move(catalog)](const std::string& device_name) -> std::string {
    const std::shared_ptr<const Catalog> in_force = catalog();
    for (const GpuSystem& gpu : in_force->gpus()) {
      if (!device_name.empty() && gpu.device_name == device_name) return gpu.name;
    }
    return "";
  };
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::unique_ptr<ProfileStore> store, ProfileStore::Open(std::move(options), complain));
  return std::shared_ptr<ProfileStore>(std::move(store));
}

}  // namespace flightplan::service
