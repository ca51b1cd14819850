// The profiles that probes measured here or that were imported: one JSON file each, `<name>.json`, in one folder. The
// same file is what `flightplan probe --out` writes and `--import` reads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "flightplan/v1/profile.pb.h"
#include "resolver/evidence/profile_source.h"
#include "service/local/local_gpus.h"

namespace flightplan {
class Catalog;
}  // namespace flightplan

namespace flightplan::service {

inline constexpr size_t kMaxStoredProfiles = 1000;
// Of their files together. In memory they take up to seven times that (small rows, and what is fitted to them); one of
// all measurements of a GPU has 0.1 MB.
inline constexpr size_t kMaxStoredProfileBytes = size_t{100} << 20;
inline constexpr size_t kMaxProfilePageBytes = size_t{3} << 20;
inline constexpr absl::Duration kDefaultProfileAge = absl::Hours(24 * 30);

struct ProfileStoreOptions {
  std::string folder;                           // made when the first profile is stored; empty: kept in memory alone
  absl::Duration max_age = kDefaultProfileAge;  // older ones are listed, and are no evidence
  std::function<absl::Time()> now;              // empty: the clock
  size_t max_bytes = kMaxStoredProfileBytes;    // of the files together
  LocalGpus local;                              // a profile of one of these, by another driver, is no evidence
  // The catalogue's system for a device name; empty: none. For profiles that do not name it.
  std::function<std::string(const std::string& device_name)> gpu_of;
};

// May be used from many threads.
class ProfileStore final : public ProfileSource {
 public:
  // Reads the folder. Files that are no profile are left alone and told to `complain`; a folder that is not there yet
  // is an empty one. FAILED_PRECONDITION: it cannot be read.
  static absl::StatusOr<std::unique_ptr<ProfileStore>> Open(ProfileStoreOptions options,
                                                            const std::function<void(const std::string&)>& complain);

  // Names it where it has no name, and the catalogue's GPU where it says none; answers with it as stored. The same
  // content again is fine.
  //   INVALID_ARGUMENT (BadRequest)  not a whole profile, or a synthetic one
  //   ALREADY_EXISTS                 the name is taken by another content (PROFILE_CONFLICT)
  //   RESOURCE_EXHAUSTED             kMaxStoredProfiles are there, or max_bytes of them
  //   UNAVAILABLE (STORE_DOWN)       the file cannot be written
  absl::StatusOr<v1::HardwareProfile> Put(v1::HardwareProfile profile);

  // NOT_FOUND (PROFILE_UNKNOWN) with the nearest name.
  absl::StatusOr<v1::HardwareProfile> Get(const std::string& name) const;

  struct Page {
    std::vector<v1::HardwareProfile> profiles;  // newest first
    std::string next;                           // token; empty: no more
  };
  // `size`: 0 means 100, at most 1,000, and no more than fit into an answer. INVALID_ARGUMENT: bad size or token.
  absl::StatusOr<Page> List(int size, const std::string& token) const;

  // Whole ones before partial ones, this machine's before the site's, newer before older.
  FoundProfile Find(const GpuSystem& gpu, absl::string_view driver_version) const override;
  // Empty while no profile is evidence.
  std::string revision() const override;

 private:
  struct Entry {
    v1::HardwareProfile message;
    std::shared_ptr<const FittedProfile> fitted;
    std::string digest;
    size_t bytes = 0;  // of its file
  };
  explicit ProfileStore(ProfileStoreOptions options) : options_(std::move(options)) {}

  absl::Status Read(const std::string& file);
  absl::Status Write(const std::string& name, const std::string& json) const;
  absl::Status Prepare(v1::HardwareProfile* profile) const;
  // Whether the profile of this name is stored, with this content. False: there is none, and there is room.
  absl::StatusOr<bool> IsStored(const std::string& name, const Entry& entry) const;
  bool IsEvidence(const Entry& entry) const;
  bool IsLocal(const HardwareProfile& profile) const;

  const ProfileStoreOptions options_;
  std::mutex writing_;        // held while a file is written, before mutex_
  mutable std::mutex mutex_;  // never held over the disk, which may hang: every answer asks for the profiles
  std::map<std::string, Entry, std::less<>> entries_;  // guarded by mutex_; by name
  size_t bytes_ = 0;                                   // guarded by mutex_; of the files of entries_
};

// `folder` with the names that the catalogue of the time has for devices. `complain` is told of files that are no
// profile.
absl::StatusOr<std::shared_ptr<ProfileStore>> OpenProfileStore(const std::string& folder, absl::Duration max_age,
                                                               std::function<std::shared_ptr<const Catalog>()> catalog,
                                                               const std::function<void(const std::string&)>& complain);

}  // namespace flightplan::service
