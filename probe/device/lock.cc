#include "probe/device/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace flightplan::probe {

DeviceLock::~DeviceLock() {
  if (file_ >= 0) close(file_);
}

Status DeviceLock::Take(const std::string& directory, const std::string& device_uuid) {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string where = !directory.empty() ? directory : runtime != nullptr && *runtime != 0 ? runtime : "/tmp";
  const std::string path = where + "/flightplan-probe-" + device_uuid + ".lock";
  // A file of another user is opened without O_CREAT, which kernels refuse in a shared directory; reading is enough to
  // lock.
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file_ < 0) file_ = open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file_ < 0) return Fail(Code::kFailed, "cannot open the lock " + path + ": " + std::strerror(errno));
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) return Ok();
  return Fail(Code::kLocked, "another probe is running on " + device_uuid + " (" + path + ")");
}

}  // namespace flightplan::probe
